/* SPDX-License-Identifier: Apache-2.0 */
#include "profiles/counters_plan.hpp"

#include <algorithm>
#include <utility>

void planner::open(const cupti_api *api, const char *chip)
{
    close();
    api_ = api;
    chip_ = chip;
}

void planner::close()
{
    for (auto &plan : plans_)
        for (configuration &conf : plan->pass)
            host_close(conf.host);
    plans_.clear();
}

int planner::check_chip(ridge_error *err) const
{
    PARAMS(CUpti_Profiler_Host_GetSupportedChips_Params, params);
    CALL(api_, cuptiProfilerHostGetSupportedChips, params);
    std::string list;
    for (size_t i = 0; i < params.numChips; i++) {
        if (chip_ == params.ppChipNames[i])
            return RIDGE_OK;
        list += (i ? " " : "") + std::string(params.ppChipNames[i]);
    }
    return ridge_fail(err, RIDGE_ENVIRONMENT, "unknown chip %s: this CUPTI counts on %s; take that of a newer toolkit",
                      chip_.c_str(), list.c_str());
}

void planner::host_close(CUpti_Profiler_Host_Object *host) const
{
    PARAMS(CUpti_Profiler_Host_Deinitialize_Params, params);
    params.pHostObject = host;
    if (host)
        api_->cuptiProfilerHostDeinitialize(&params);
}

/* Builds host object and configuration image for configuration.name. RIDGE_INVALID: a name is not known. */
int planner::schedule(configuration &conf, size_t *passes, ridge_error *err) const
{
    PARAMS(CUpti_Profiler_Host_Initialize_Params, init);
    init.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    init.pChipName = chip_.c_str();
    CALL(api_, cuptiProfilerHostInitialize, init);
    conf.host = init.pHostObject;
    PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params, add);
    add.pHostObject = conf.host;
    add.ppMetricNames = conf.name.data();
    add.numMetrics = conf.name.size();
    int result = api_->cuptiProfilerHostConfigAddMetrics(&add);
    if (result == CUPTI_ERROR_INVALID_METRIC_NAME || result == CUPTI_ERROR_INVALID_PARAMETER)
        return ridge_fail(err, RIDGE_INVALID, "metric %s is not known to chip %s", conf.name.back(), chip_.c_str());
    if (result != CUPTI_SUCCESS)
        return cupti_fail(err, api_, result, "cuptiProfilerHostConfigAddMetrics");

    PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params, size);
    size.pHostObject = conf.host;
    CALL(api_, cuptiProfilerHostGetConfigImageSize, size);
    conf.config.resize(size.configImageSize);
    PARAMS(CUpti_Profiler_Host_GetConfigImage_Params, image);
    image.pHostObject = conf.host;
    image.configImageSize = conf.config.size();
    image.pConfigImage = conf.config.data();
    CALL(api_, cuptiProfilerHostGetConfigImage, image);
    PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params, count);
    count.configImageSize = conf.config.size();
    count.pConfigImage = conf.config.data();
    CALL(api_, cuptiProfilerHostGetNumOfPasses, count);
    *passes = count.numOfPasses;
    return RIDGE_OK;
}

/* Replaces conf by itself with one more metric if that still takes one pass. */
int planner::try_grow(configuration &conf, const char *name, size_t index, size_t *passes, ridge_error *err) const
{
    configuration grown;
    grown.name = conf.name;
    grown.index = conf.index;
    grown.name.push_back(name);
    grown.index.push_back(index);
    int status = schedule(grown, passes, err);
    if (status == RIDGE_OK && *passes == 1)
        std::swap(conf, grown);
    host_close(grown.host);
    return status;
}

/* First fit: each metric goes into the first configuration that stays at one pass. */
int planner::pack(plan &plan, ridge_error *err) const
{
    for (size_t i = 0; i < plan.name.size(); i++) {
        const char *name = plan.name[i].c_str();
        size_t passes = 0;
        for (size_t c = 0; c < plan.pass.size() && passes != 1; c++) {
            int status = try_grow(plan.pass[c], name, i, &passes, err);
            if (status != RIDGE_OK)
                return status;
        }
        if (passes == 1)
            continue;
        configuration fresh;
        if (plan.name[i] != COUNTERS_ANCHOR) {
            fresh.name.push_back(COUNTERS_ANCHOR);
            fresh.index.push_back(configuration::anchor);
        }
        int status = try_grow(fresh, name, i, &passes, err);
        if (status == RIDGE_OK && passes != 1)
            status = ridge_fail(err, RIDGE_INVALID, "metric %s needs %zu passes by itself on chip %s", name, passes,
                                chip_.c_str());
        if (status != RIDGE_OK)
            return status;
        plan.pass.push_back(std::move(fresh));
    }
    return RIDGE_OK;
}

int planner::find(const metric_group *group, plan **out, ridge_error *err)
{
    auto same = [group](const std::unique_ptr<plan> &plan) {
        return plan->name.size() == group->count &&
               std::equal(plan->name.begin(), plan->name.end(), group->metric,
                          [](const std::string &name, const metric &metric) { return name == metric.name; });
    };
    auto found = std::find_if(plans_.begin(), plans_.end(), same);
    if (found != plans_.end()) {
        *out = found->get();
        return RIDGE_OK;
    }
    auto fresh = std::make_unique<plan>();
    for (size_t i = 0; i < group->count; i++)
        fresh->name.emplace_back(group->metric[i].name);
    int status = pack(*fresh, err);
    if (status != RIDGE_OK) {
        for (configuration &conf : fresh->pass)
            host_close(conf.host);
        return status;
    }
    *out = fresh.get();
    plans_.push_back(std::move(fresh));
    return RIDGE_OK;
}

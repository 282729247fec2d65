/* SPDX-License-Identifier: Apache-2.0 */
/* The range profiler behind counters.h. C++ only because cupti_profiler_host.h includes <string>.
 * CUPTI 13.0 reference: "CUPTI Profiler Host API" and "CUPTI Range Profiling API". */
#include "profiles/counters.h"

#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "profiles/counters_plan.hpp"

namespace
{

struct {
    const cupti_api *api;
    bool validate_only;
} state;

planner plans;

int enable(CUpti_RangeProfiler_Object **profiler, ridge_error *err)
{
    void *ctx = nullptr;
    size_t device = 0;
    int result = state.api->current_context(&ctx, &device);
    if (result != 0 || !ctx)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "no CUDA context to count in (CUDA error %d)", result);
    PARAMS(CUpti_RangeProfiler_Enable_Params, params);
    params.ctx = static_cast<CUcontext>(ctx);
    CALL(state.api, cuptiRangeProfilerEnable, params);
    *profiler = params.pRangeProfilerObject;
    return RIDGE_OK;
}

void disable(CUpti_RangeProfiler_Object *profiler)
{
    PARAMS(CUpti_RangeProfiler_Disable_Params, params);
    params.pRangeProfilerObject = profiler;
    state.api->cuptiRangeProfilerDisable(&params);
}

/* Sizes and clears the counter data image and hands it over with the configuration image. Asking for the size is not
 * only a question: a profiler object that was not asked crashes in SetConfig (CUPTI 13.0). */
int arm(configuration &conf, CUpti_RangeProfiler_Object *profiler, ridge_error *err)
{
    PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params, size);
    size.pRangeProfilerObject = profiler;
    size.pMetricNames = conf.name.data();
    size.numMetrics = conf.name.size();
    size.maxNumOfRanges = 1;
    size.maxNumRangeTreeNodes = 1;
    CALL(state.api, cuptiRangeProfilerGetCounterDataSize, size);
    conf.data.resize(size.counterDataSize);

    PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, clear);
    clear.pRangeProfilerObject = profiler;
    clear.counterDataSize = conf.data.size();
    clear.pCounterData = conf.data.data();
    CALL(state.api, cuptiRangeProfilerCounterDataImageInitialize, clear);

    PARAMS(CUpti_RangeProfiler_SetConfig_Params, set);
    set.pRangeProfilerObject = profiler;
    set.configSize = conf.config.size();
    set.pConfig = conf.config.data();
    set.counterDataImageSize = conf.data.size();
    set.pCounterDataImage = conf.data.data();
    set.range = CUPTI_UserRange;
    set.replayMode = CUPTI_UserReplay;
    set.maxRangesPerPass = 1;
    set.numNestingLevels = 1;
    set.minNestingLevel = 1;
    set.passIndex = 0;
    set.targetNestingLevel = 1;
    CALL(state.api, cuptiRangeProfilerSetConfig, set);
    return RIDGE_OK;
}

/* The launch as the one range of a pass. A launch that fails still leaves the profiler stopped. */
int count_launch(const counters_work *work, CUpti_RangeProfiler_Object *profiler, ridge_error *err)
{
    PARAMS(CUpti_RangeProfiler_Start_Params, start);
    PARAMS(CUpti_RangeProfiler_PushRange_Params, push);
    PARAMS(CUpti_RangeProfiler_PopRange_Params, pop);
    PARAMS(CUpti_RangeProfiler_Stop_Params, stop);
    start.pRangeProfilerObject = push.pRangeProfilerObject = profiler;
    pop.pRangeProfilerObject = stop.pRangeProfilerObject = profiler;
    push.pRangeName = "launch";

    CALL(state.api, cuptiRangeProfilerStart, start);
    int push_result = state.api->cuptiRangeProfilerPushRange(&push), pop_result = CUPTI_SUCCESS, cuda_result = 0;
    int status = RIDGE_OK;
    if (push_result == CUPTI_SUCCESS) {
        status = work->launch(work->ctx, err);
        pop_result = state.api->cuptiRangeProfilerPopRange(&pop);
        cuda_result = state.api->synchronize();
    }
    int stop_result = state.api->cuptiRangeProfilerStop(&stop);
    if (status != RIDGE_OK)
        return status;
    if (push_result != CUPTI_SUCCESS)
        return cupti_fail(err, state.api, push_result, "cuptiRangeProfilerPushRange");
    if (cuda_result != 0)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "the launch under the profiler failed (CUDA error %d)", cuda_result);
    if (pop_result != CUPTI_SUCCESS)
        return cupti_fail(err, state.api, pop_result, "cuptiRangeProfilerPopRange");
    if (stop_result != CUPTI_SUCCESS)
        return cupti_fail(err, state.api, stop_result, "cuptiRangeProfilerStop");
    if (!stop.isAllPassSubmitted)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "CUPTI wants a further pass for a single-pass configuration");
    return RIDGE_OK;
}

int evaluate(const configuration &conf, CUpti_RangeProfiler_Object *profiler, std::vector<double> &value,
             ridge_error *err)
{
    PARAMS(CUpti_RangeProfiler_DecodeData_Params, decode);
    decode.pRangeProfilerObject = profiler;
    CALL(state.api, cuptiRangeProfilerDecodeData, decode);
    PARAMS(CUpti_RangeProfiler_GetCounterDataInfo_Params, info);
    info.pCounterDataImage = conf.data.data();
    info.counterDataImageSize = conf.data.size();
    CALL(state.api, cuptiRangeProfilerGetCounterDataInfo, info);
    if (info.numTotalRanges != 1 || decode.numOfRangeDropped != 0)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "CUPTI returned %zu ranges and dropped %zu where one was counted",
                          info.numTotalRanges, decode.numOfRangeDropped);
    value.assign(conf.name.size(), NAN);
    PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params, params);
    params.pHostObject = conf.host;
    params.pCounterDataImage = conf.data.data();
    params.counterDataImageSize = conf.data.size();
    params.rangeIndex = 0;
    params.ppMetricNames = const_cast<const char **>(conf.name.data());
    params.numMetrics = conf.name.size();
    params.pMetricValues = value.data();
    CALL(state.api, cuptiProfilerHostEvaluateToGpuValues, params);
    return RIDGE_OK;
}

int count_armed(configuration &conf, const counters_work *work, CUpti_RangeProfiler_Object *profiler,
                std::vector<double> &value, ridge_error *err)
{
    int status = arm(conf, profiler, err);
    if (status == RIDGE_OK && work->prepare)
        status = work->prepare(work->ctx, err);
    int cuda_result = status == RIDGE_OK ? state.api->synchronize() : 0;
    if (cuda_result != 0)
        status = ridge_fail(err, RIDGE_ENVIRONMENT, "preparing a counter pass failed (CUDA error %d)", cuda_result);
    if (status == RIDGE_OK)
        status = count_launch(work, profiler, err);
    return status == RIDGE_OK ? evaluate(conf, profiler, value, err) : status;
}

/* The profiler is enabled anew for each pass: a second configuration on one object counts nothing but what it shares
 * with the first (CUPTI 13.0, seen on an H200). An enable and disable take about 0.1 s. */
int run_pass(configuration &conf, const counters_work *work, counters_result *result, std::vector<double> &anchors,
             ridge_error *err)
{
    CUpti_RangeProfiler_Object *profiler = nullptr;
    std::vector<double> value;
    int status = enable(&profiler, err);
    if (status != RIDGE_OK)
        return status;
    status = count_armed(conf, work, profiler, value, err);
    disable(profiler);
    for (size_t i = 0; i < value.size() && status == RIDGE_OK; i++) {
        if (conf.index[i] != configuration::anchor)
            result->value[conf.index[i]] = value[i];
        if (std::strcmp(conf.name[i], COUNTERS_ANCHOR) == 0)
            anchors.push_back(value[i]);
    }
    return status;
}

double spread_of(std::vector<double> anchor)
{
    if (anchor.empty() || !std::all_of(anchor.begin(), anchor.end(), [](double v) { return v > 0; }))
        return NAN;
    std::sort(anchor.begin(), anchor.end());
    size_t n = anchor.size();
    double median = n % 2 ? anchor[n / 2] : 0.5 * (anchor[n / 2 - 1] + anchor[n / 2]);
    return (anchor.back() - anchor.front()) / median;
}

int collect(const metric_group *group, const counters_work *work, counters_result *result, ridge_error *err)
{
    if (!state.api)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "counters are not open");
    if (state.validate_only)
        return ridge_fail(err, RIDGE_INVALID, "counters were opened for chip %s, for validation only",
                          plans.chip().c_str());
    plan *plan = nullptr;
    int status = plans.find(group, &plan, err);
    if (status != RIDGE_OK)
        return status;

    result->value = static_cast<double *>(std::malloc(group->count * sizeof(double)));
    if (!result->value)
        throw std::bad_alloc();
    result->count = group->count;
    result->passes = plan->pass.size();
    std::fill_n(result->value, group->count, NAN);
    std::vector<double> anchors;
    anchors.reserve(plan->pass.size());
    for (configuration &conf : plan->pass) {
        status = run_pass(conf, work, result, anchors, err);
        if (status != RIDGE_OK)
            break;
    }
    if (status == RIDGE_OK)
        result->spread = spread_of(anchors);
    else
        counters_result_free(result);
    return status;
}

/* The current device's chip, and whether its counters may be read: a trial enable tells before anything is timed. */
int open_device(ridge_error *err)
{
    PARAMS(CUpti_Profiler_Initialize_Params, init);
    CALL(state.api, cuptiProfilerInitialize, init);
    void *ctx = nullptr;
    PARAMS(CUpti_Device_GetChipName_Params, name);
    int result = state.api->current_context(&ctx, &name.deviceIndex);
    if (result != 0)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "no CUDA device to count on (CUDA error %d)", result);
    CALL(state.api, cuptiDeviceGetChipName, name);
    plans.open(state.api, name.pChipName ? name.pChipName : "");
    int status = plans.check_chip(err);
    CUpti_RangeProfiler_Object *profiler = nullptr;
    if (status == RIDGE_OK)
        status = enable(&profiler, err);
    if (status == RIDGE_OK)
        disable(profiler);
    return status;
}

int open(const char *chip, ridge_error *err)
{
    counters_close();
    state.api = cupti_api_get(err);
    int status = state.api ? cupti_api_has_counters(state.api, err) : RIDGE_ENVIRONMENT;
    if (status != RIDGE_OK)
        return status;
    state.validate_only = chip != nullptr;
    if (!chip)
        return open_device(err);
    plans.open(state.api, chip);
    return plans.check_chip(err);
}

/* No exception crosses the C interface; only memory can be short. */
template <typename F> int guard(ridge_error *err, F body)
{
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return ridge_fail(err, RIDGE_ENVIRONMENT, "out of memory while reading counters");
    }
}

} // namespace

int counters_open(const char *chip, ridge_error *err)
{
    int status = guard(err, [&] { return open(chip, err); });
    if (status != RIDGE_OK)
        counters_close();
    return status;
}

void counters_close(void)
{
    plans.close();
    state.api = nullptr;
}

int counters_validate(const metric_group *group, size_t *passes, ridge_error *err)
{
    *passes = 0;
    if (!state.api)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "counters are not open");
    return guard(err, [&] {
        plan *plan = nullptr;
        int status = plans.find(group, &plan, err);
        if (status == RIDGE_OK)
            *passes = plan->pass.size();
        return status;
    });
}

int counters_collect(const metric_group *group, const counters_work *work, counters_result *result, ridge_error *err)
{
    *result = counters_result{};
    return guard(err, [&] { return collect(group, work, result, err); });
}

void counters_result_free(counters_result *result)
{
    std::free(result->value);
    *result = counters_result{};
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Metric groups packed into configurations that take one pass each. Private to the counters' C++ files. */
#ifndef RIDGE_COUNTERS_PLAN_HPP
#define RIDGE_COUNTERS_PLAN_HPP

#include <cuda.h>
#include <cupti_profiler_host.h>
#include <cupti_result.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "profiles/counters.h"
#include "profiles/cupti_api.h"

/* A zeroed parameter struct with its size, as every call wants it. */
#define PARAMS(type, name)                                                                                             \
    type name{};                                                                                                       \
    name.structSize = type##_STRUCT_SIZE

#define CALL(api, function, params)                                                                                    \
    do {                                                                                                               \
        int result_ = (api)->function(&(params));                                                                      \
        if (result_ != CUPTI_SUCCESS)                                                                                  \
            return cupti_fail(err, api, result_, #function);                                                           \
    } while (0)

/* One pass: the metrics, the anchor first unless the group names it, and CUPTI's images for them. */
struct configuration {
    static constexpr size_t anchor = SIZE_MAX;
    std::vector<const char *> name;
    std::vector<size_t> index; /* of each name in the group, or `anchor` */
    std::vector<uint8_t> config, data;
    CUpti_Profiler_Host_Object *host = nullptr;
};

struct plan {
    std::vector<std::string> name;
    std::vector<configuration> pass;
};

/* The plans of one chip, each made once: a host object takes milliseconds. */
class planner
{
  public:
    ~planner()
    {
        close();
    }
    void open(const cupti_api *api, const char *chip);
    void close();
    /* RIDGE_ENVIRONMENT unless CUPTI lists the chip: the host API would otherwise fail later and less clearly. */
    int check_chip(ridge_error *err) const;
    /* RIDGE_INVALID names a metric that the chip does not have or that takes more than one pass by itself. */
    int find(const metric_group *group, plan **out, ridge_error *err);
    const std::string &chip() const
    {
        return chip_;
    }

  private:
    void host_close(CUpti_Profiler_Host_Object *host) const;
    int schedule(configuration &conf, size_t *passes, ridge_error *err) const;
    int try_grow(configuration &conf, const char *name, size_t index, size_t *passes, ridge_error *err) const;
    int pack(plan &plan, ridge_error *err) const;

    const cupti_api *api_ = nullptr;
    std::string chip_;
    std::vector<std::unique_ptr<plan>> plans_;
};

#endif

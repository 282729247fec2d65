/* SPDX-License-Identifier: Apache-2.0 */
#include "profiles/telemetry.h"

#include <dlfcn.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "profiles/nvml_api.h"

#define LIBRARY "libnvidia-ml.so.1"

enum { SENSOR_GPU = 0, CLOCK_SM = 1 }; /* NVML_TEMPERATURE_GPU, NVML_CLOCK_SM */

static const struct nvml_api *injected;
static struct {
    struct nvml_api api;
    void *device; /* NULL when closed */
    char driver[80];
} state;

static const struct {
    const char *name;
    size_t offset;
    bool optional;
} entry[] = {
#define ENTRY(name, optional)                                                                                          \
    {                                                                                                                  \
#name, offsetof(struct nvml_api, name), optional                                                               \
    }
    ENTRY(nvmlInit_v2, false),
    ENTRY(nvmlShutdown, false),
    ENTRY(nvmlErrorString, false),
    ENTRY(nvmlSystemGetDriverVersion, false),
    ENTRY(nvmlDeviceGetHandleByUUID, false),
    ENTRY(nvmlDeviceGetPowerUsage, false),
    ENTRY(nvmlDeviceGetPowerManagementLimit, false),
    ENTRY(nvmlDeviceGetTemperature, false),
    ENTRY(nvmlDeviceGetClockInfo, false),
    ENTRY(nvmlDeviceGetCurrentClocksEventReasons, true),
    ENTRY(nvmlDeviceGetCurrentClocksThrottleReasons, true),
#undef ENTRY
};

/* nvmlClocksEventReasons; bit 0 is "idle", which throttles nothing. */
static const char *const reason[] = {NULL,
                                     "applications_clocks_setting",
                                     "sw_power_cap",
                                     "hw_slowdown",
                                     "sync_boost",
                                     "sw_thermal_slowdown",
                                     "hw_thermal_slowdown",
                                     "hw_power_brake_slowdown",
                                     "display_clock_setting"};

int nvml_api_load(const char *library, struct nvml_api *api, struct ridge_error *err)
{
    void *handle = dlopen(library, RTLD_NOW);
    if (!handle)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "NVML missing (it comes with the driver): %s", dlerror());
    for (size_t i = 0; i < sizeof entry / sizeof *entry; i++) {
        void *function = dlsym(handle, entry[i].name);
        if (!function && !entry[i].optional)
            return ridge_fail(err, RIDGE_ENVIRONMENT, "%s lacks %s", library, entry[i].name);
        memcpy((char *)api + entry[i].offset, &function, sizeof function);
    }
    return RIDGE_OK;
}

void nvml_api_inject(const struct nvml_api *api)
{
    injected = api;
}

int telemetry_open(const char *uuid, struct ridge_error *err)
{
    telemetry_close();
    if (injected)
        state.api = *injected;
    else if (nvml_api_load(LIBRARY, &state.api, err) != RIDGE_OK)
        return RIDGE_ENVIRONMENT;
    int result = state.api.nvmlInit_v2();
    if (result != 0)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "NVML does not start: %s", state.api.nvmlErrorString(result));
    if (state.api.nvmlSystemGetDriverVersion(state.driver, sizeof state.driver) != 0)
        state.driver[0] = '\0';
    result = state.api.nvmlDeviceGetHandleByUUID(uuid, &state.device);
    if (result != 0 || !state.device) {
        state.device = NULL;
        state.api.nvmlShutdown();
        return ridge_fail(err, RIDGE_ENVIRONMENT, "NVML has no device %s: %s", uuid, state.api.nvmlErrorString(result));
    }
    return RIDGE_OK;
}

static double value_or_nan(int result, unsigned value, double scale)
{
    return result == 0 ? value * scale : NAN;
}

bool telemetry_read(struct telemetry *out)
{
    const struct nvml_api *api = &state.api;
    *out = (struct telemetry){NAN, NAN, NAN, NAN, 0};
    if (!state.device)
        return false;
    unsigned value = 0;
    int result = api->nvmlDeviceGetPowerUsage(state.device, &value);
    out->power_w = value_or_nan(result, value, 1e-3);
    result = api->nvmlDeviceGetPowerManagementLimit(state.device, &value);
    out->power_limit_w = value_or_nan(result, value, 1e-3);
    result = api->nvmlDeviceGetTemperature(state.device, SENSOR_GPU, &value);
    out->temperature_c = value_or_nan(result, value, 1);
    result = api->nvmlDeviceGetClockInfo(state.device, CLOCK_SM, &value);
    out->sm_hz = value_or_nan(result, value, 1e6);
    unsigned long long bits = 0;
    int (*reasons)(void *, unsigned long long *) = api->nvmlDeviceGetCurrentClocksEventReasons
                                                       ? api->nvmlDeviceGetCurrentClocksEventReasons
                                                       : api->nvmlDeviceGetCurrentClocksThrottleReasons;
    if (reasons && reasons(state.device, &bits) == 0)
        out->throttle = bits;
    return true;
}

void telemetry_close(void)
{
    if (state.device)
        state.api.nvmlShutdown();
    state.device = NULL;
}

int telemetry_throttle_names(unsigned long long bits, const char **name, int capacity)
{
    int count = 0;
    for (size_t i = 0; i < sizeof reason / sizeof *reason; i++)
        if (reason[i] && (bits >> i & 1) && count < capacity)
            name[count++] = reason[i];
    return count;
}

const char *telemetry_driver(void)
{
    return state.driver;
}

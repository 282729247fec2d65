/* SPDX-License-Identifier: Apache-2.0 */
/* The few NVML functions that telemetry reads, found with dlopen; prototypes after NVML's reference manual, since
 * the toolkit need not bring nvml.h. Private to profiles/. */
#ifndef RIDGE_NVML_API_H
#define RIDGE_NVML_API_H

#include "base/error.h"

/* Results are nvmlReturn_t, 0 is success. */
struct nvml_api {
    int (*nvmlInit_v2)(void);
    int (*nvmlShutdown)(void);
    const char *(*nvmlErrorString)(int result);
    int (*nvmlSystemGetDriverVersion)(char *version, unsigned bytes);
    int (*nvmlDeviceGetHandleByUUID)(const char *uuid, void **device);
    int (*nvmlDeviceGetPowerUsage)(void *device, unsigned *milliwatt);
    int (*nvmlDeviceGetPowerManagementLimit)(void *device, unsigned *milliwatt);
    int (*nvmlDeviceGetTemperature)(void *device, int sensor, unsigned *celsius);
    int (*nvmlDeviceGetClockInfo)(void *device, int clock, unsigned *megahertz);
    int (*nvmlDeviceGetCurrentClocksEventReasons)(void *device, unsigned long long *bits);    /* may be NULL */
    int (*nvmlDeviceGetCurrentClocksThrottleReasons)(void *device, unsigned long long *bits); /* its older name */
};

/* Fills *api from a library ("libnvidia-ml.so.1"), which stays loaded. RIDGE_ENVIRONMENT. */
int nvml_api_load(const char *library, struct nvml_api *api, struct ridge_error *err);

/* telemetry_open uses this table; NULL goes back to the library. Borrowed. */
void nvml_api_inject(const struct nvml_api *api);

#endif

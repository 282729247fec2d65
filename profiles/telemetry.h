/* SPDX-License-Identifier: Apache-2.0 */
/* Power, temperature and throttle reasons through NVML, found with dlopen. Reads only. */
#ifndef RIDGE_TELEMETRY_H
#define RIDGE_TELEMETRY_H

#include <stdbool.h>

#include "base/error.h"

struct telemetry {
    double power_w, temperature_c, sm_hz, power_limit_w; /* NaN where not readable */
    unsigned long long throttle; /* NVML clocks event reasons bits; telemetry_throttle_names spells them */
};

/* RIDGE_ENVIRONMENT with the reason when NVML or the device is not there. uuid "GPU-..." picks the device. */
int telemetry_open(const char *uuid, struct ridge_error *err);
bool telemetry_read(struct telemetry *out); /* false when closed */
void telemetry_close(void);

/* Writes at most `capacity` static strings, returns how many: "sw_power_cap", "hw_slowdown", ... "idle" left out. */
int telemetry_throttle_names(unsigned long long bits, const char **name, int capacity);

/* Driver version "580.159.04", or "" */
const char *telemetry_driver(void);

#endif

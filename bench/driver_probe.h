/* SPDX-License-Identifier: Apache-2.0 */
/* Is there a driver and a device, and if not, why: behind a table, so that tests inject each answer. */
#ifndef RIDGE_DRIVER_PROBE_H
#define RIDGE_DRIVER_PROBE_H

#include "base/error.h"

/* CUDA runtime calls; versions are 1000 * major + 10 * minor, 0 when there is no driver. Return cudaError_t. */
struct driver_calls {
    int (*driver_version)(int *version);
    int (*runtime_version)(int *version);
    int (*device_count)(int *count);
    const char *(*error_string)(int error);
};

/* RIDGE_ENVIRONMENT with the reason and the remedy. */
int driver_probe(const struct driver_calls *calls, struct ridge_error *err);

#endif

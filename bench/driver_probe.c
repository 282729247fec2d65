/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/driver_probe.h"

int driver_probe(const struct driver_calls *calls, struct ridge_error *err)
{
    int driver = 0, runtime = 0, devices = 0;
    calls->driver_version(&driver);
    calls->runtime_version(&runtime);
    if (driver == 0)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "no NVIDIA driver: libcuda.so.1 is not there or does not load");
    if (driver / 1000 < runtime / 1000)
        return ridge_fail(err, RIDGE_ENVIRONMENT,
                          "the driver is too old: it supports CUDA %d.%d, this build needs CUDA %d.x; update the driver "
                          "or build with an older toolkit",
                          driver / 1000, driver % 1000 / 10, runtime / 1000);
    int error = calls->device_count(&devices);
    if (error)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "no usable GPU: %s", calls->error_string(error));
    if (devices < 1)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "no GPU is visible (CUDA_VISIBLE_DEVICES hides it, or there is none)");
    return RIDGE_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Host side of CUDA variants: errors of a launch or of setup go to call->error. */
#ifndef RIDGE_SUPPORT_LAUNCH_CUH
#define RIDGE_SUPPORT_LAUNCH_CUH

#include "kernels/kernel.h"

#include <cuda_runtime.h>
#include <stdio.h>

static inline int ridge_cuda_status(const struct ridge_call *call, cudaError_t status, const char *file, int line,
                                    const char *expression)
{
    if (status == cudaSuccess)
        return 0;
    snprintf(call->error, call->error_bytes, "%s:%d: %s: %s", file, line, expression, cudaGetErrorString(status));
    return 1;
}

/* Returns from a function with launch's signature when a runtime call fails. */
#define RIDGE_CUDA(call, expression)                                                                                   \
    do {                                                                                                               \
        if (ridge_cuda_status(call, (expression), __FILE__, __LINE__, #expression))                                    \
            return 1;                                                                                                  \
    } while (0)

/* After <<<...>>>: 0, or nonzero when the launch was refused. */
#define RIDGE_LAUNCHED(call) ridge_cuda_status(call, cudaGetLastError(), __FILE__, __LINE__, "launch")

static inline cudaStream_t ridge_stream(const struct ridge_call *call)
{
    return (cudaStream_t)call->stream;
}

static inline int64_t ridge_ceil_div(int64_t value, int64_t divisor)
{
    return (value + divisor - 1) / divisor;
}

/* For the first steps of GEMM ladders: a launch of more multiply-adds takes a quarter of a second and up. */
static inline const char *ridge_too_slow(const int64_t *dim, const struct ridge_device *device)
{
    (void)device;
    return (double)dim[0] * (double)dim[1] * (double)dim[2] > 1e11
               ? "more than 1e11 multiply-adds take this step a quarter of a second and up; measure it on a smaller shape"
               : NULL;
}

#endif

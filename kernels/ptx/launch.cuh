/* SPDX-License-Identifier: Apache-2.0 */
/* Host side of a launch: the return value of ridge_variant.launch. */
#ifndef RIDGE_PTX_LAUNCH_CUH
#define RIDGE_PTX_LAUNCH_CUH

#include <cuda_runtime.h>
#include <stdio.h>

#include "kernels/kernel.h"

/* 0, or 1 with the runtime's message in call->error. */
static inline int launch_status(const struct ridge_call *call, cudaError_t status, const char *what)
{
    if (status == cudaSuccess)
        return 0;
    snprintf(call->error, call->error_bytes, "%s: %s", what, cudaGetErrorString(status));
    return 1;
}

/* What the launch just before left behind. */
static inline int launched(const struct ridge_call *call, const char *kernel)
{
    return launch_status(call, cudaGetLastError(), kernel);
}

#endif

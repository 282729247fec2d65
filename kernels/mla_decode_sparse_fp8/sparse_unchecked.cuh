/* SPDX-License-Identifier: Apache-2.0 */
/* Plan `unchecked`: kernels without the test of indices, for what it costs. Their setup looks at all indices instead,
 * once and on the host, and refuses any that is no token: nothing outside the cache is read by this plan either. */
#ifndef RIDGE_SPARSE_UNCHECKED_CUH
#define RIDGE_SPARSE_UNCHECKED_CUH

#include "kernels/mla_decode_sparse_fp8/sparse_gpu.cuh"

#include <stdlib.h>
#include <string.h>

static const char *const sparse_plan[] = {"checked", "unchecked"};

static inline int sparse_plans(const int64_t *, const struct ridge_device *, char (*plan)[RIDGE_PLAN_BYTES], int max)
{
    int count = 0;
    for (; count < 2 && count < max; count++)
        snprintf(plan[count], RIDGE_PLAN_BYTES, "%s", sparse_plan[count]);
    return count;
}

static inline bool sparse_unchecked(const struct ridge_call *call)
{
    return call->device->plan && strcmp(call->device->plan, sparse_plan[1]) == 0;
}

/* For setup: nonzero, with call->error, where the plan is none or does not take these indices. */
static inline int sparse_refuse_plan(const struct ridge_call *call)
{
    const char *plan = call->device->plan;
    if (plan && strcmp(plan, sparse_plan[0]) != 0 && !sparse_unchecked(call)) {
        snprintf(call->error, call->error_bytes, "plan: '%s': must be %s or %s", plan, sparse_plan[0], sparse_plan[1]);
        return 1;
    }
    if (!sparse_unchecked(call))
        return 0;
    RIDGE_CUDA(call, cudaStreamSynchronize(ridge_stream(call)));
    const int64_t count = sparse_queries(call->dim) * call->dim[SPARSE_TOPK];
    int32_t *indices = (int32_t *)malloc((size_t)count * sizeof *indices);
    if (!indices) {
        snprintf(call->error, call->error_bytes, "out of memory");
        return 1;
    }
    const cudaError_t status =
        cudaMemcpy(indices, call->buffer[SPARSE_INDICES], (size_t)count * sizeof *indices, cudaMemcpyDeviceToHost);
    const int refused = ridge_cuda_status(call, status, __FILE__, __LINE__, "indices to the host") ||
                        sparse_refuse_indices(call, indices, count);
    free(indices);
    return refused;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Host side of kernels whose CTAs meet at counters in memory of the state. */
#ifndef RIDGE_MLA_DECODE_COUNTERS_CUH
#define RIDGE_MLA_DECODE_COUNTERS_CUH

#include "kernels/support/launch.cuh"

/* Counters of 0, which the caller frees with cudaFree, also when this fails. */
static inline int mla_make_counters(const struct ridge_call *call, int64_t count, unsigned **counters)
{
    const size_t bytes = (size_t)count * sizeof **counters;
    RIDGE_CUDA(call, cudaMalloc((void **)counters, bytes));
    RIDGE_CUDA(call, cudaMemsetAsync(*counters, 0, bytes, ridge_stream(call)));
    return 0;
}

/* Cooperative, so that all CTAs are there at the same time, unless none `meet`. */
template <typename arguments>
static inline int mla_launch_resident(const struct ridge_call *call, void (*kernel)(arguments), dim3 grid, int threads,
                                      int shared_bytes, const arguments &all, bool meet)
{
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = dim3((unsigned)threads);
    config.dynamicSmemBytes = (size_t)shared_bytes;
    config.stream = ridge_stream(call);
    config.attrs = &attribute;
    config.numAttrs = meet;
    RIDGE_CUDA(call, cudaLaunchKernelEx(&config, kernel, all));
    return 0;
}

#endif

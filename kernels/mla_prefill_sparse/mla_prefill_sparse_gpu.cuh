/* SPDX-License-Identifier: Apache-2.0 */
/* What the CUDA variants of mla_prefill_sparse share: the problem as kernels see it. */
#ifndef RIDGE_MLA_PREFILL_SPARSE_GPU_CUH
#define RIDGE_MLA_PREFILL_SPARSE_GPU_CUH

#include "kernels/support/element.cuh"
#include "kernels/support/launch.cuh"

#include <math.h>

constexpr int prefill_d_v = 512, prefill_d_max = 576;
constexpr float prefill_scale = 1.0f / 24;

/* Row r of q and of the results is head r % h of query r / h. */
struct prefill_problem {
    const bf16 *q, *kv;
    const int32_t *indices;
    bf16 *out;
    float *max_logits, *lse;
    int s_q, s_kv, h, topk, d_qk;
};

static inline prefill_problem prefill_problem_of(const struct ridge_call *call)
{
    const int64_t *dim = call->dim;
    return {(const bf16 *)call->buffer[0],
            (const bf16 *)call->buffer[1],
            (const int32_t *)call->buffer[2],
            (bf16 *)call->buffer[3],
            (float *)call->buffer[4],
            (float *)call->buffer[5],
            (int)dim[0],
            (int)dim[1],
            (int)dim[2],
            (int)dim[3],
            (int)dim[4]};
}

/* The rule for indices: one that is no row of kv, whatever its value, is no key. */
static __device__ __forceinline__ bool prefill_is_key(const prefill_problem &problem, int index)
{
    return (unsigned)index < (unsigned)problem.s_kv;
}

/* NULL for what is no key. */
static __device__ __forceinline__ const bf16 *prefill_key(const prefill_problem &problem, int index)
{
    return prefill_is_key(problem, index) ? problem.kv + (int64_t)index * problem.d_qk : NULL;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What the CUDA variants of attention_bf16 share: the problem as kernels see it. */
#ifndef RIDGE_ATTENTION_BF16_GPU_CUH
#define RIDGE_ATTENTION_BF16_GPU_CUH

#include "kernels/attention_bf16/attention_bf16.h"
#include "kernels/support/element.cuh"
#include "kernels/support/launch.cuh"

constexpr int attention_dim = ATTENTION_DIM;
constexpr float attention_scale = (float)ATTENTION_SCALE, attention_ln2 = 0.69314718055994531f;
constexpr float attention_scale_log2 = (float)(ATTENTION_SCALE * 1.4426950408889634);

struct attention_problem {
    const bf16 *q, *k, *v;
    bf16 *out;
    float *lse;
    int b, s_q, s_k, h;
};

static inline attention_problem attention_problem_of(const struct ridge_call *call)
{
    return {(const bf16 *)call->buffer[ATTENTION_Q],
            (const bf16 *)call->buffer[ATTENTION_K],
            (const bf16 *)call->buffer[ATTENTION_V],
            (bf16 *)call->buffer[ATTENTION_OUT],
            (float *)call->buffer[ATTENTION_LSE],
            (int)call->dim[ATTENTION_B],
            (int)call->dim[ATTENTION_S_Q],
            (int)call->dim[ATTENTION_S_K],
            (int)call->dim[ATTENTION_H]};
}

/* Element where token `token` of a request starts in q or out (tokens = s_q), k or v (tokens = s_k). */
static __host__ __device__ __forceinline__ int64_t attention_at(const attention_problem &problem, int tokens,
                                                                int request, int head, int token)
{
    return (((int64_t)request * tokens + token) * problem.h + head) * attention_dim;
}

static __host__ __device__ __forceinline__ int64_t attention_lse_at(const attention_problem &problem, int request,
                                                                    int head, int query)
{
    return ((int64_t)request * problem.h + head) * problem.s_q + query;
}

#endif

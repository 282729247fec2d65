/* SPDX-License-Identifier: Apache-2.0 */
/* What the CUDA variants of mla_decode_sparse_fp8 and mla_decode_sparse_512 share: the problem as kernels see it. */
#ifndef RIDGE_SPARSE_GPU_CUH
#define RIDGE_SPARSE_GPU_CUH

#include "kernels/mla_decode_sparse_fp8/mla_sparse.h"
#include "kernels/support/element.cuh"
#include "kernels/support/launch.cuh"

constexpr int sparse_d_k = SPARSE_D_K, sparse_d_v = SPARSE_D_V, sparse_token_bytes = kv_token_bytes(KV_V32);
constexpr float sparse_scale = (float)(1 / SPARSE_ROOT), sparse_scale_log2 = (float)(1.4426950408889634 / SPARSE_ROOT),
                sparse_ln2 = 0.69314718055994531f;

struct sparse_problem {
    const bf16 *q;
    const uint8_t *cache;
    const int32_t *indices;
    bf16 *out;
    float *lse;
    int queries, s_q, h, topk;
    enum kv_format format;
    uint32_t page_size, capacity; /* an index is valid below the capacity */
    uint32_t page_inverse;        /* 2^32 / page_size, rounded down */
    int64_t block_bytes;
    int overhead; /* what a query costs beside its blocks, where work is shared out (sparse_split.cuh) */
};

static inline sparse_problem sparse_problem_of(const struct ridge_call *call)
{
    const int64_t *dim = call->dim;
    return {(const bf16 *)call->buffer[SPARSE_Q],
            (const uint8_t *)call->buffer[SPARSE_CACHE],
            (const int32_t *)call->buffer[SPARSE_INDICES],
            (bf16 *)call->buffer[SPARSE_OUT],
            (float *)call->buffer[SPARSE_LSE],
            (int)sparse_queries(dim),
            (int)dim[SPARSE_S_Q],
            (int)dim[SPARSE_H],
            (int)dim[SPARSE_TOPK],
            sparse_format(dim),
            (uint32_t)dim[SPARSE_PAGE_SIZE],
            (uint32_t)sparse_capacity(dim),
            ~0u / (uint32_t)dim[SPARSE_PAGE_SIZE],
            sparse_block_bytes(dim),
            0};
}

/* Bytes of a token; NULL for an index that is no token's, negative ones included, unless all are known to be. */
template <bool checked = true>
static __device__ __forceinline__ const uint8_t *sparse_token(const sparse_problem &problem, int32_t index)
{
    const uint32_t token = (uint32_t)index;
    uint32_t page = __umulhi(token, problem.page_inverse); /* of an index below 2^31 right, or one too small */
    page += token - page * problem.page_size >= problem.page_size;
    if (checked && token >= problem.capacity)
        return NULL;
    return problem.cache + page * problem.block_bytes + (token - page * problem.page_size) * sparse_token_bytes;
}

/* Where a token is: its block and its number there. block: NULL for an index that is no token's. */
struct sparse_place {
    const uint8_t *block;
    int i;
};

static __device__ __forceinline__ sparse_place sparse_place_of(const sparse_problem &problem, int32_t index)
{
    const uint32_t token = (uint32_t)index, page = token / problem.page_size;
    if (token >= problem.capacity)
        return {NULL, 0};
    return {problem.cache + page * problem.block_bytes, (int)(token - page * problem.page_size)};
}

/* Value i of a token. */
static __device__ __forceinline__ float sparse_value(const sparse_problem &problem, const sparse_place &place, int i)
{
    const enum kv_format format = problem.format;
    if (i >= kv_quantised(format))
        return float(((const bf16 *)(place.block + kv_rope_offset(format, place.i)))[i - kv_quantised(format)]);
    const uint8_t *codes = place.block + kv_token_offset(format, place.i);
    const uint8_t *scales = place.block + kv_scale_offset(format, (int)problem.page_size, place.i);
    const float code = format == KV_V41_FP4 ? e2m1_to_f32(codes[i / 2] >> i % 2 * 4) : e4m3_to_f32(codes[i]);
    return code * kv_scale_value(format, kv_load_scale(format, scales, i / kv_tile(format)));
}

static __device__ __forceinline__ int64_t sparse_lse_at(const sparse_problem &problem, int query, int head)
{
    return ((int64_t)(query / problem.s_q) * problem.h + head) * problem.s_q + query % problem.s_q;
}

#endif

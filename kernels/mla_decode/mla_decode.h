/* SPDX-License-Identifier: Apache-2.0 */
/* Axes, buffers and the paged cache of mla_decode, for the family and its host variants. */
#ifndef RIDGE_MLA_DECODE_H
#define RIDGE_MLA_DECODE_H

#include "kernels/kernel.h"
#include "kernels/support/numeric.h"

#include <stdio.h>

enum { MLA_B, MLA_S_Q, MLA_S_K, MLA_H, MLA_PAGE_SIZE };
enum { MLA_Q, MLA_KV, MLA_BLOCK_TABLE, MLA_LENGTH, MLA_OUT, MLA_LSE };
enum {
    MLA_D_K = 576,            /* latent and RoPE part */
    MLA_D_V = 512,            /* the latent part: the first columns of K */
    MLA_NO_PAGE = 2147480000, /* what unused block-table entries hold */
    MLA_LARGEST_PAGE_SIZE = 1024,
};

/* 1 / sqrt(576), as the public decode kernels default to. A model passes the scale of its unabsorbed heads. */
#define MLA_SCALE (1.0f / 24)

static inline int64_t mla_table_columns(const int64_t *dim)
{
    return (dim[MLA_S_K] + dim[MLA_PAGE_SIZE] - 1) / dim[MLA_PAGE_SIZE];
}

static inline int64_t mla_pages(const int64_t *dim)
{
    return dim[MLA_B] * mla_table_columns(dim);
}

/* Element of the cache where a key of a request starts. Only for keys below the request's length. */
static inline int64_t mla_key_offset(const int64_t *dim, const int32_t *block_table, int64_t request, int64_t key)
{
    const int64_t size = dim[MLA_PAGE_SIZE], page = block_table[request * mla_table_columns(dim) + key / size];
    return (page * size + key % size) * MLA_D_K;
}

/* Keys that query token i may see: those up to length - s_q + i. */
static inline int64_t mla_visible(const int64_t *dim, int64_t length, int64_t i)
{
    const int64_t keys = length - dim[MLA_S_Q] + i + 1;
    return keys > 0 ? keys : 0;
}

/* Row r of a request is query token r / h of head r % h: the order of q and out. */
static inline int64_t mla_rows(const int64_t *dim)
{
    return dim[MLA_S_Q] * dim[MLA_H];
}

static inline int64_t mla_lse_offset(const int64_t *dim, int64_t request, int64_t row)
{
    return (request * dim[MLA_H] + row % dim[MLA_H]) * dim[MLA_S_Q] + row / dim[MLA_H];
}

static inline void mla_load_row(const uint16_t *src, float *dst)
{
#pragma omp simd
    for (int i = 0; i < MLA_D_K; i++)
        dst[i] = bf16_to_f32(src[i]);
}

static inline float mla_dot(const float *x, const float *y)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < MLA_D_K; i++)
        sum += x[i] * y[i];
    return sum;
}

/* 0, or nonzero with call->error: lengths that the table does not cover and pages that the cache does not have. */
static inline int mla_check_inputs(const struct ridge_call *call)
{
    const int64_t *dim = call->dim, columns = mla_table_columns(dim);
    const int32_t *length = call->buffer[MLA_LENGTH], *table = call->buffer[MLA_BLOCK_TABLE];
    for (int64_t b = 0; b < dim[MLA_B]; b++) {
        if (length[b] < 0 || length[b] > dim[MLA_S_K]) {
            snprintf(call->error, call->error_bytes, "length[%lld] = %d: must be in [0, s_k = %lld]", (long long)b,
                     length[b], (long long)dim[MLA_S_K]);
            return 1;
        }
        for (int64_t i = 0; i * dim[MLA_PAGE_SIZE] < length[b]; i++) {
            const int32_t page = table[b * columns + i];
            if (page >= 0 && page < mla_pages(dim))
                continue;
            snprintf(call->error, call->error_bytes, "block_table[%lld, %lld] = %d: must be in [0, pages = %lld)",
                     (long long)b, (long long)i, page, (long long)mla_pages(dim));
            return 1;
        }
    }
    return 0;
}

#endif

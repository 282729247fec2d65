/* SPDX-License-Identifier: Apache-2.0 */
/* Axes, buffers and the cache of mla_decode_sparse_fp8, and of mla_decode_sparse_512 where SPARSE_512 is defined
 * before. Tokens have the formats of kv_format.h: V3.2 in the first, in the second the one whose tokens have `bytes`
 * bytes. Blocks of page_size tokens lie one token apart, so that a variant that does not look at pages fails. */
#ifndef RIDGE_MLA_SPARSE_H
#define RIDGE_MLA_SPARSE_H

#include "kernels/kernel.h"
#include "kernels/kv_quantise/kv_problem.h"

#include <stdio.h>

enum { SPARSE_B, SPARSE_S_Q, SPARSE_H, SPARSE_TOPK, SPARSE_S_KV, SPARSE_PAGE_SIZE, SPARSE_BYTES };
enum { SPARSE_Q, SPARSE_CACHE, SPARSE_INDICES, SPARSE_OUT, SPARSE_LSE };
enum { SPARSE_D_V = 512 };

/* Scores are divided by SPARSE_ROOT, the root of SPARSE_D_K. */
#ifdef SPARSE_512
enum { SPARSE_D_K = 512 };
#define SPARSE_ROOT 22.627416997969522
static inline enum kv_format sparse_format(const int64_t *dim)
{
    return kv_format_of(dim[SPARSE_BYTES]);
}
#else
enum { SPARSE_D_K = 576 };
#define SPARSE_ROOT 24.0
static inline enum kv_format sparse_format(const int64_t *dim)
{
    (void)dim;
    return KV_V32;
}
#endif

static inline int64_t sparse_queries(const int64_t *dim)
{
    return dim[SPARSE_B] * dim[SPARSE_S_Q];
}

static inline int64_t sparse_pages(const int64_t *dim)
{
    return (dim[SPARSE_S_KV] + dim[SPARSE_PAGE_SIZE] - 1) / dim[SPARSE_PAGE_SIZE];
}

/* Tokens that the cache has room for: an index is valid from 0 to one less. */
static inline int64_t sparse_capacity(const int64_t *dim)
{
    return sparse_pages(dim) * dim[SPARSE_PAGE_SIZE];
}

/* From one block to the next. */
static inline int64_t sparse_block_bytes(const int64_t *dim)
{
    const enum kv_format format = sparse_format(dim);
    return kv_block_bytes(format, (int)dim[SPARSE_PAGE_SIZE]) + kv_token_offset(format, 1);
}

static inline bool sparse_valid(const int64_t *dim, int32_t index)
{
    return index >= 0 && index < sparse_capacity(dim);
}

/* Block of a valid index; the token is number index % page_size there. */
static inline uint8_t *sparse_block(const int64_t *dim, uint8_t *cache, int32_t index)
{
    return cache + index / dim[SPARSE_PAGE_SIZE] * sparse_block_bytes(dim);
}

/* The SPARSE_D_K values of a valid index: code times scale in FP32. */
static inline void sparse_decode(const int64_t *dim, uint8_t *cache, int32_t index, float *value)
{
    kv_decode(sparse_format(dim), sparse_block(dim, cache, index), (int)dim[SPARSE_PAGE_SIZE],
              (int)(index % dim[SPARSE_PAGE_SIZE]), value);
}

/* Of query token `query` of all and a head: lse is [b,h,s_q]. */
static inline int64_t sparse_lse_offset(const int64_t *dim, int64_t query, int64_t head)
{
    return (query / dim[SPARSE_S_Q] * dim[SPARSE_H] + head) * dim[SPARSE_S_Q] + query % dim[SPARSE_S_Q];
}

/* 0, or nonzero with call->error: a cache that tokens of 16-byte parts do not lie in, sizes that do not match. */
static inline int sparse_check_buffers(const struct ridge_call *call)
{
    const int64_t *dim = call->dim, indices = sparse_queries(dim) * dim[SPARSE_TOPK] * 4;
    const int64_t cache = sparse_pages(dim) * sparse_block_bytes(dim);
    const uintptr_t address = (uintptr_t)call->buffer[SPARSE_CACHE];
    if (address % 16) {
        snprintf(call->error, call->error_bytes, "cache: address is %d bytes beyond a multiple of 16: must be one",
                 (int)(address % 16));
        return 1;
    }
    if (call->buffer_bytes && (int64_t)call->buffer_bytes[SPARSE_CACHE] < cache) {
        snprintf(
            call->error, call->error_bytes,
            "cache: %lld bytes: must be at least %lld, blocks of %lld tokens of %d bytes, %lld bytes apart, times %lld",
            (long long)call->buffer_bytes[SPARSE_CACHE], (long long)cache, (long long)dim[SPARSE_PAGE_SIZE],
            kv_token_bytes(sparse_format(dim)), (long long)sparse_block_bytes(dim), (long long)sparse_pages(dim));
        return 1;
    }
    if (call->buffer_bytes && (int64_t)call->buffer_bytes[SPARSE_INDICES] < indices) {
        snprintf(call->error, call->error_bytes, "indices: %lld bytes: must be at least %lld, b * s_q * topk of 4",
                 (long long)call->buffer_bytes[SPARSE_INDICES], (long long)indices);
        return 1;
    }
    return 0;
}

/* For kernels that do not test indices: nonzero, with call->error, where one of them is no token. */
static inline int sparse_refuse_indices(const struct ridge_call *call, const int32_t *indices, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (!sparse_valid(call->dim, indices[i])) {
            snprintf(call->error, call->error_bytes,
                     "indices: %d at %lld is no token: plan unchecked takes those from 0 to %lld only", indices[i],
                     (long long)i, (long long)sparse_capacity(call->dim) - 1);
            return 1;
        }
    return 0;
}

#endif

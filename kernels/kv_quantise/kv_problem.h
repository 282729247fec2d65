/* SPDX-License-Identifier: Apache-2.0 */
/* What kv_quantise and kv_dequantise share: axes, sizes, shapes. Token t is token t % page_size of block t / page_size;
 * blocks follow each other without a gap. */
#ifndef RIDGE_KV_PROBLEM_H
#define RIDGE_KV_PROBLEM_H

#include "kernels/kernel.h"
#include "kernels/support/kv_format.h"

enum { KV_TOKENS, KV_BYTES, KV_PAGE };

/* KV_FORMATS if no format has tokens of so many bytes. */
static inline enum kv_format kv_format_of(int64_t bytes)
{
    int format = 0;
    while (format < KV_FORMATS && kv_token_bytes((enum kv_format)format) != bytes)
        format++;
    return (enum kv_format)format;
}

static inline const char *kv_shape_error(const int64_t *dim)
{
    return kv_format_of(dim[KV_BYTES]) == KV_FORMATS ? "bytes must be 656 (V3.2), 584 (MODEL1), 528 (V4.1 FP8) or 288 "
                                                       "(V4.1 FP4), the bytes of a token of one of these formats"
                                                     : NULL;
}

static inline double kv_count_values(const int64_t *dim)
{
    return (double)dim[KV_TOKENS] * kv_values(kv_format_of(dim[KV_BYTES]));
}

/* Two BF16 values a word. */
static inline double kv_count_pairs(const int64_t *dim)
{
    return kv_count_values(dim) / 2;
}

static inline int64_t kv_blocks(const int64_t *dim)
{
    return (dim[KV_TOKENS] + dim[KV_PAGE] - 1) / dim[KV_PAGE];
}

static inline double kv_count_cache(const int64_t *dim)
{
    return (double)kv_blocks(dim) * (double)kv_block_bytes(kv_format_of(dim[KV_BYTES]), (int)dim[KV_PAGE]);
}

#define KV_AXES                                                                                                        \
    {"tokens", 1, 1 << 26, 1, "tokens"}, {"bytes", 288, 656, 8, "bytes of a token: 656, 584, 528 or 288"},             \
    {                                                                                                                  \
        "page_size", 1, 1 << 16, 1, "tokens of a block"                                                                \
    }

#define KV_SHAPES                                                                                                      \
    {"656", RIDGE_QUICK, RIDGE_CUDA, {1 << 18, 656, 64}}, {"528", RIDGE_STANDARD, RIDGE_CUDA, {1 << 18, 528, 64}},     \
        {"584", RIDGE_FULL, RIDGE_CUDA, {1 << 18, 584, 64}}, {"288", RIDGE_FULL, RIDGE_CUDA, {1 << 18, 288, 64}},      \
        {"656-64k", RIDGE_FULL, RIDGE_CUDA, {1 << 16, 656, 64}},                                                       \
        {"528-64k", RIDGE_FULL, RIDGE_CUDA, {1 << 16, 528, 64}}, {"656-128", RIDGE_FULL, RIDGE_CUDA, {128, 656, 64}},  \
    {                                                                                                                  \
        "656-1M", RIDGE_FULL, RIDGE_CUDA,                                                                              \
        {                                                                                                              \
            1 << 20, 656, 64                                                                                           \
        }                                                                                                              \
    }

#define KV_CHECK_DIMS                                                                                                  \
    {1, 656, 1}, {1, 584, 1}, {1, 528, 1}, {1, 288, 1}, {67, 656, 64}, {67, 584, 64}, {67, 528, 64}, {67, 288, 64},    \
        {130, 656, 7}, {130, 584, 7}, {130, 528, 7}, {130, 288, 7}, {300, 584, 72},                                    \
    {                                                                                                                  \
        300, 288, 256                                                                                                  \
    }

#endif

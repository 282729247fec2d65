/* SPDX-License-Identifier: Apache-2.0 */
/* Layout of the scales: scale_a [blocks of k][pitch of m], scale_b [blocks of n][blocks of k]; FP32. */
#ifndef RIDGE_GEMM_FP8_BLOCK_H
#define RIDGE_GEMM_FP8_BLOCK_H

#include "kernels/kernel.h"

#include <stdio.h>

/* Blocks of 128 along an axis. */
static inline int64_t gemm_fp8_block_count(int64_t length)
{
    return (length + 127) / 128;
}

/* Floats from one block of k to the next in scale_a: rows start at multiples of 16 bytes, as tensor copies need. */
static inline int64_t gemm_fp8_block_pitch_a(int64_t m)
{
    return (m + 3) / 4 * 4;
}

/* For setup: nonzero, with call->error, where a tensor of scales (buffers 2 and 3) has too few rows for the shape. */
static inline int gemm_fp8_block_scales_refused(const struct ridge_call *call)
{
    const int64_t m = call->dim[0], n = call->dim[1], k = call->dim[2], blocks = gemm_fp8_block_count(k);
    const struct {
        const char *name, *axis;
        int64_t rows, columns, length;
    } scale[] = {{"scale_a", "k", blocks, gemm_fp8_block_pitch_a(m), k},
                 {"scale_b", "n", gemm_fp8_block_count(n), blocks, n}};
    for (int i = 0; i < 2 && call->buffer_bytes; i++) {
        const int64_t rows = (int64_t)(call->buffer_bytes[2 + i] / sizeof(float)) / scale[i].columns;
        if (rows >= scale[i].rows)
            continue;
        snprintf(call->error, call->error_bytes,
                 "%s: %lld rows of %lld scales, but %s=%lld needs %lld, one for each 128 of it", scale[i].name,
                 (long long)rows, (long long)scale[i].columns, scale[i].axis, (long long)scale[i].length,
                 (long long)scale[i].rows);
        return 1;
    }
    return 0;
}

#endif

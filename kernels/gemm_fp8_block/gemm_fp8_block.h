/* SPDX-License-Identifier: Apache-2.0 */
/* Layout of the scales: scale_a [blocks of k][pitch of m], scale_b [blocks of n][blocks of k]; FP32. */
#ifndef RIDGE_GEMM_FP8_BLOCK_H
#define RIDGE_GEMM_FP8_BLOCK_H

#include <stdint.h>

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

#endif

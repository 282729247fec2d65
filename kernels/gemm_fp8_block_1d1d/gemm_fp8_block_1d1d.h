/* SPDX-License-Identifier: Apache-2.0 */
/* Host code that the weight-gradient families share. Scales of either operand: [blocks of k][pitch of its rows], as
 * scale_a of gemm_fp8_block. */
#ifndef RIDGE_GEMM_FP8_BLOCK_1D1D_H
#define RIDGE_GEMM_FP8_BLOCK_1D1D_H

#include "kernels/gemm_fp8_block/gemm_fp8_block.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A gemm_element_fn of buffers a, b, scale_a, scale_b, which may be those of a part of k. */
double gemm_1d1d_element(const int64_t *dim, void *const *buffer, int operand, int64_t row, int64_t i);

/* Scales of an operand of `rows` rows; the padding is NaN: it must not reach a result. */
void gemm_1d1d_fill_scales(float *scale, int64_t rows, int64_t blocks, uint64_t seed);

/* For setup: nonzero, with call->error, where a tensor of scales (buffers 2 and 3) has too few rows for the shape. */
static inline int gemm_1d1d_scales_refused(const struct ridge_call *call, int64_t m, int64_t n, int64_t k)
{
    const int64_t pitch[] = {gemm_fp8_block_pitch_a(m), gemm_fp8_block_pitch_a(n)};
    for (int i = 0; i < 2 && call->buffer_bytes; i++) {
        const int64_t rows = (int64_t)(call->buffer_bytes[2 + i] / sizeof(float)) / pitch[i];
        if (rows >= gemm_fp8_block_count(k))
            continue;
        snprintf(call->error, call->error_bytes,
                 "%s: %lld rows of %lld scales, but k=%lld needs %lld, one for each 128 of it",
                 i ? "scale_b" : "scale_a", (long long)rows, (long long)pitch[i], (long long)k,
                 (long long)gemm_fp8_block_count(k));
        return 1;
    }
    return 0;
}

/* ref += the first `count` elements of c. */
void gemm_1d1d_accumulate(const float *c, int64_t count, double *ref);

#define GEMM_1D1D_TOLERANCE                                                                                            \
    {                                                                                                                  \
        .rel = 0x1p-9, .mag_rel = 0x1p-10,                                                                             \
        .source = "A WGMMA aligns its 32 products and the accumulator to the largest of them and keeps 13 bits below " \
                  "its leading one (about 14 bits: DeepSeek-V3, arXiv 2412.19437, 3.3.2); four follow each other "     \
                  "before promotion. rel is for sums that one product carries, beside which the cuts are largest. "    \
                  "Simulated: 2^-11.9 of the sum of absolute products on normal inputs, 0.15 of this; 2^-9.2 with "    \
                  "outliers, 0.66 of this"                                                                             \
    }

#ifdef __cplusplus
}
#endif

#endif

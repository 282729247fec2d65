/* SPDX-License-Identifier: Apache-2.0 */
/* Host code that the FP8 GEMM families share: shapes, buffers, scales, hard inputs. */
#ifndef RIDGE_GEMM_FP8_H
#define RIDGE_GEMM_FP8_H

#include "kernels/support/fill.h"
#include "kernels/support/gemm_problem.h"

#include <math.h>

#define GEMM_FP8_SHAPES                                                                                                \
    {"cube-1024", RIDGE_FULL, RIDGE_CUDA, {1024, 1024, 1024}},                                                         \
        {"prefill", RIDGE_QUICK, RIDGE_CUDA, {4096, 4096, 7168}}, GEMM_LAYERS

/* Most with k a multiple of 16, which tensor copies need; k on both sides of blocks of 128; rings that wrap; tiles cut
 * on both sides; n that is odd, even, and a multiple of 8 and of 16; m that is not a multiple of 4. */
#define GEMM_FP8_CHECK_DIMS                                                                                            \
    {1, 1, 1}, {3, 5, 7}, {65, 33, 17}, {128, 128, 128}, {1, 8, 16}, {129, 127, 144}, {100, 260, 384}, {64, 64, 512},  \
        {257, 2, 32}, {1, 300, 112}, {300, 522, 272}, {132, 208, 2048}, {130, 272, 1296}, {256, 640, 640},             \
    {                                                                                                                  \
        520, 1000, 400                                                                                                 \
    }

#define GEMM_FP8_BUFFERS(count_scale_a, count_scale_b)                                                                 \
    {"a", RIDGE_E4M3, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, gemm_count_a},                                                \
        {"b", RIDGE_E4M3, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, gemm_count_b},                                            \
        {"scale_a", RIDGE_F32, RIDGE_INPUT, RIDGE_FILL_CUSTOM, 0, count_scale_a},                                      \
        {"scale_b", RIDGE_F32, RIDGE_INPUT, RIDGE_FILL_CUSTOM, 0, count_scale_b},                                      \
    {                                                                                                                  \
        "d", RIDGE_BF16, RIDGE_OUTPUT, RIDGE_FILL_NORMAL, 0, gemm_count_d                                              \
    }
enum { GEMM_FP8_SCALE_A = 2, GEMM_FP8_SCALE_B };

/* A scale of quantised data: 2^x, x uniform in [-2, 2). */
static inline float gemm_fp8_scale(uint64_t seed, int64_t i)
{
    return exp2f(fill_uniform(seed ^ 0x5ca1e, (uint64_t)i, 2));
}

/* An eighth is the finest remainder that e4m3 has. */
static inline void gemm_fp8_harden(const int64_t *dim, int hard, uint64_t seed, void *const *buffer)
{
    gemm_harden(&(struct gemm_hard){RIDGE_E4M3, 0.125f, 16}, dim, hard, seed, buffer);
}

#endif

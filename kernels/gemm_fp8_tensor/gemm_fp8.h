/* SPDX-License-Identifier: Apache-2.0 */
/* Host code that the FP8 GEMM families share: shapes, hard inputs, the product of dequantised operands. */
#ifndef RIDGE_GEMM_FP8_H
#define RIDGE_GEMM_FP8_H

#include "kernels/kernel.h"
#include "kernels/support/fill.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GEMM_FP8_M, GEMM_FP8_N, GEMM_FP8_K };
enum { GEMM_FP8_CANCELLING = 1, GEMM_FP8_OUTLIERS };

/* (n, k) of the layers of DeepSeek-V3 by the number of tokens m. */
#define GEMM_FP8_SHAPES                                                                                                \
    {"cube-1024", RIDGE_FULL, RIDGE_CUDA, {1024, 1024, 1024}},                                                         \
        {"prefill", RIDGE_QUICK, RIDGE_CUDA, {4096, 4096, 7168}},                                                      \
        {"decode", RIDGE_STANDARD, RIDGE_CUDA, {64, 7168, 2048}},                                                      \
        {"prefill-shallow", RIDGE_FULL, RIDGE_CUDA, {4096, 24576, 1536}},                                              \
        {"prefill-2112x7168", RIDGE_FULL, RIDGE_CUDA, {4096, 2112, 7168}},                                             \
        {"prefill-576x7168", RIDGE_FULL, RIDGE_CUDA, {4096, 576, 7168}},                                               \
        {"prefill-32768x512", RIDGE_FULL, RIDGE_CUDA, {4096, 32768, 512}},                                             \
        {"prefill-7168x16384", RIDGE_FULL, RIDGE_CUDA, {4096, 7168, 16384}},                                           \
        {"prefill-7168x2048", RIDGE_FULL, RIDGE_CUDA, {4096, 7168, 2048}},                                             \
        {"cube-8192", RIDGE_FULL, RIDGE_CUDA, {8192, 8192, 8192}},                                                     \
        {"decode-2112x7168", RIDGE_FULL, RIDGE_CUDA, {64, 2112, 7168}},                                                \
        {"decode-576x7168", RIDGE_FULL, RIDGE_CUDA, {64, 576, 7168}},                                                  \
        {"decode-24576x1536", RIDGE_FULL, RIDGE_CUDA, {64, 24576, 1536}},                                              \
        {"decode-32768x512", RIDGE_FULL, RIDGE_CUDA, {64, 32768, 512}},                                                \
        {"decode-7168x16384", RIDGE_FULL, RIDGE_CUDA, {64, 7168, 16384}},                                              \
        {"decode-4096x7168", RIDGE_FULL, RIDGE_CUDA, {64, 4096, 7168}},                                                \
        {"decode128-2112x7168", RIDGE_FULL, RIDGE_CUDA, {128, 2112, 7168}},                                            \
        {"decode128-576x7168", RIDGE_FULL, RIDGE_CUDA, {128, 576, 7168}},                                              \
        {"decode128-24576x1536", RIDGE_FULL, RIDGE_CUDA, {128, 24576, 1536}},                                          \
        {"decode128-32768x512", RIDGE_FULL, RIDGE_CUDA, {128, 32768, 512}},                                            \
        {"decode128-7168x16384", RIDGE_FULL, RIDGE_CUDA, {128, 7168, 16384}},                                          \
        {"decode128-4096x7168", RIDGE_FULL, RIDGE_CUDA, {128, 4096, 7168}},                                            \
    {                                                                                                                  \
        "decode128-7168x2048", RIDGE_FULL, RIDGE_CUDA,                                                                 \
        {                                                                                                              \
            128, 7168, 2048                                                                                            \
        }                                                                                                              \
    }

/* Most with k a multiple of 16, which tensor copies need; k on both sides of blocks of 128; rings that wrap; tiles cut
 * on both sides; n that is odd, even, and a multiple of 8 and of 16; m that is not a multiple of 4. */
#define GEMM_FP8_CHECK_DIMS                                                                                            \
    {1, 1, 1}, {3, 5, 7}, {65, 33, 17}, {128, 128, 128}, {1, 8, 16}, {129, 127, 144}, {100, 260, 384}, {64, 64, 512},  \
        {257, 2, 32}, {1, 300, 112}, {300, 522, 272}, {132, 208, 2048}, {130, 272, 1296}, {256, 640, 640},             \
    {                                                                                                                  \
        520, 1000, 400                                                                                                 \
    }

static inline double gemm_fp8_count_a(const int64_t *dim)
{
    return (double)dim[GEMM_FP8_M] * (double)dim[GEMM_FP8_K];
}

static inline double gemm_fp8_count_b(const int64_t *dim)
{
    return (double)dim[GEMM_FP8_N] * (double)dim[GEMM_FP8_K];
}

static inline double gemm_fp8_count_d(const int64_t *dim)
{
    return (double)dim[GEMM_FP8_M] * (double)dim[GEMM_FP8_N];
}

static inline int64_t gemm_fp8_output_columns(const int64_t *dim)
{
    return dim[GEMM_FP8_N];
}

/* A scale of quantised data: 2^x, x uniform in [-2, 2). */
static inline float gemm_fp8_scale(uint64_t seed, int64_t i)
{
    return exp2f(fill_uniform(seed ^ 0x5ca1e, (uint64_t)i, 2));
}

/* cancelling: products 2i and 2i + 1 of every sum cancel but for about an eighth, the finest that e4m3 has. outliers:
 * about one element in 64 is 16 times as large. */
static inline void gemm_fp8_harden(const int64_t *dim, int hard, uint64_t seed, uint8_t *a, uint8_t *b)
{
    const int64_t rows[2] = {dim[GEMM_FP8_M], dim[GEMM_FP8_N]}, k = dim[GEMM_FP8_K];
    uint8_t *const operands[2] = {a, b};
    for (int operand = 0; operand < 2; operand++) {
        uint8_t *x = operands[operand];
        if (hard == GEMM_FP8_CANCELLING) {
            const float factor = operand == 0 ? 1 : -1.125f;
            for (int64_t r = 0; r < rows[operand]; r++)
                for (int64_t i = 1; i < k; i += 2)
                    x[r * k + i] = e4m3_from_f32(e4m3_to_f32(x[r * k + i - 1]) * factor);
        } else if (hard == GEMM_FP8_OUTLIERS) {
            for (int64_t i = 0; i < rows[operand] * k; i++)
                if (fill_hash(seed + (uint64_t)operand, (uint64_t)i) % 64 == 0)
                    x[i] = e4m3_from_f32(e4m3_to_f32(x[i]) * 16);
        }
    }
}

/* ref = A B^T of dequantised operands a [m,k], b [n,k]; mag = the sums of absolute products. */
static inline void gemm_fp8_product(const int64_t *dim, const double *a, const double *b, double *ref, double *mag)
{
    const int64_t m = dim[GEMM_FP8_M], n = dim[GEMM_FP8_N], k = dim[GEMM_FP8_K];
#pragma omp parallel for
    for (int64_t row = 0; row < m; row++) {
        for (int64_t column = 0; column < n; column++) {
            double sum = 0, absolute = 0;
            for (int64_t i = 0; i < k; i++) {
                const double product = a[row * k + i] * b[column * k + i];
                sum += product;
                absolute += fabs(product);
            }
            ref[row * n + column] = sum;
            mag[row * n + column] = absolute;
        }
    }
}

static inline double *gemm_fp8_doubles(int64_t count)
{
    double *values = malloc((size_t)count * sizeof *values);
    if (!values)
        abort(); /* a reference has no way to report */
    return values;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What the GEMM families have in common: D[m,n] = A[m,k] B[n,k]^T with A and B the first two buffers, counts, layer
 * shapes, hard inputs, the C reference. What their numbers are made of stays in the families. */
#ifndef RIDGE_GEMM_PROBLEM_H
#define RIDGE_GEMM_PROBLEM_H

#include "kernels/kernel.h"

enum { GEMM_M, GEMM_N, GEMM_K };
enum { GEMM_A, GEMM_B };

#define GEMM_AXES                                                                                                      \
    {"m", 1, 1 << 20, 1, "rows of A and D"}, {"n", 1, 1 << 20, 1, "rows of B, columns of D"},                          \
    {                                                                                                                  \
        "k", 1, 1 << 20, 1, "length of the sums"                                                                       \
    }

/* Presets: (n, k) of the layers of DeepSeek-V3 by the number of tokens m. */
#define GEMM_LAYER(tokens, m, n, k)                                                                                    \
    {                                                                                                                  \
        tokens "-" #n "x" #k, RIDGE_FULL, RIDGE_CUDA,                                                                  \
        {                                                                                                              \
            m, n, k                                                                                                    \
        }                                                                                                              \
    }
#define GEMM_LAYERS                                                                                                    \
    {"decode", RIDGE_STANDARD, RIDGE_CUDA, {64, 7168, 2048}},                                                          \
        {"prefill-shallow", RIDGE_FULL, RIDGE_CUDA, {4096, 24576, 1536}}, GEMM_LAYER("prefill", 4096, 2112, 7168),     \
        GEMM_LAYER("prefill", 4096, 576, 7168), GEMM_LAYER("prefill", 4096, 32768, 512),                               \
        GEMM_LAYER("prefill", 4096, 7168, 16384), GEMM_LAYER("prefill", 4096, 7168, 2048),                             \
        {"cube-8192", RIDGE_FULL, RIDGE_CUDA, {8192, 8192, 8192}}, GEMM_LAYER("decode", 64, 2112, 7168),               \
        GEMM_LAYER("decode", 64, 576, 7168), GEMM_LAYER("decode", 64, 24576, 1536),                                    \
        GEMM_LAYER("decode", 64, 32768, 512), GEMM_LAYER("decode", 64, 7168, 16384),                                   \
        GEMM_LAYER("decode", 64, 4096, 7168), GEMM_LAYER("decode128", 128, 2112, 7168),                                \
        GEMM_LAYER("decode128", 128, 576, 7168), GEMM_LAYER("decode128", 128, 24576, 1536),                            \
        GEMM_LAYER("decode128", 128, 32768, 512), GEMM_LAYER("decode128", 128, 7168, 16384),                           \
        GEMM_LAYER("decode128", 128, 4096, 7168), GEMM_LAYER("decode128", 128, 7168, 2048)

double gemm_count_a(const int64_t *dim);
double gemm_count_b(const int64_t *dim);
double gemm_count_d(const int64_t *dim);
int64_t gemm_output_columns(const int64_t *dim);
double gemm_flop(const int64_t *dim);

/* "cancelling": products 2i and 2i + 1 of every sum cancel but for about `remainder`, so that the result is small
 * beside the sum of absolute products. "outliers": about one element in 64 is `outlier` times as large. */
struct gemm_hard {
    enum ridge_dtype dtype; /* of a and b: RIDGE_F32, RIDGE_BF16, RIDGE_E4M3 */
    float remainder, outlier;
};
extern const char *const gemm_cases[]; /* for ridge_family.cases */

/* Rewrites a and b for hard case `hard` of gemm_cases, counted from 1; 0 leaves them as they are. */
void gemm_harden(const struct gemm_hard *how, const int64_t *dim, int hard, uint64_t seed, void *const *buffer);

/* Element `i` of row `row` of A or B (operand GEMM_A or GEMM_B), scaled if the family scales. */
typedef double gemm_element_fn(const int64_t *dim, void *const *buffer, int operand, int64_t row, int64_t i);

/* ref: sums of products, along k in order; mag: sums of absolute products. */
void gemm_reference(const int64_t *dim, gemm_element_fn *element, void *const *buffer, double *ref, double *mag);

#endif

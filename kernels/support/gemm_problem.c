/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/support/gemm_problem.h"
#include "kernels/support/fill.h"

#include <math.h>
#include <string.h>

enum { CANCELLING = 1, OUTLIERS };

const char *const gemm_cases[] = {"cancelling", "outliers", NULL};

double gemm_count_a(const int64_t *dim)
{
    return (double)dim[GEMM_M] * (double)dim[GEMM_K];
}

double gemm_count_b(const int64_t *dim)
{
    return (double)dim[GEMM_N] * (double)dim[GEMM_K];
}

double gemm_count_d(const int64_t *dim)
{
    return (double)dim[GEMM_M] * (double)dim[GEMM_N];
}

int64_t gemm_output_columns(const int64_t *dim)
{
    return dim[GEMM_N];
}

double gemm_flop(const int64_t *dim)
{
    return 2.0 * (double)dim[GEMM_M] * (double)dim[GEMM_N] * (double)dim[GEMM_K];
}

/* x[to] = x[from] * factor, rounded to the type. */
static void scale_element(void *x, enum ridge_dtype dtype, int64_t to, int64_t from, float factor)
{
    const float value = dtype == RIDGE_BF16   ? bf16_to_f32(((const uint16_t *)x)[from])
                        : dtype == RIDGE_E4M3 ? e4m3_to_f32(((const uint8_t *)x)[from])
                                              : ((const float *)x)[from];
    fill_store(x, dtype, to, value * factor);
}

void gemm_harden(const struct gemm_hard *how, const int64_t *dim, int hard, uint64_t seed, void *const *buffer)
{
    const int64_t rows[2] = {dim[GEMM_M], dim[GEMM_N]}, k = dim[GEMM_K];
    for (int operand = GEMM_A; operand <= GEMM_B; operand++) {
        void *x = buffer[operand];
        if (hard == CANCELLING) {
            const float factor = operand == GEMM_A ? 1 : -(1 + how->remainder);
            for (int64_t r = 0; r < rows[operand]; r++)
                for (int64_t i = 1; i < k; i += 2)
                    scale_element(x, how->dtype, r * k + i, r * k + i - 1, factor);
        } else if (hard == OUTLIERS) {
            for (int64_t i = 0; i < rows[operand] * k; i++)
                if (fill_hash(seed + (uint64_t)operand, (uint64_t)i) % 64 == 0)
                    scale_element(x, how->dtype, i, i, how->outlier);
        }
    }
}

enum { TILE = 64 };

/* Columns [n0, n0 + TILE) of D; B goes through a transposed tile, so that the inner loop runs over columns. */
static void reference_columns(const int64_t *dim, gemm_element_fn *element, void *const *buffer, int64_t n0,
                              double *ref, double *mag)
{
    const int64_t m = dim[GEMM_M], n = dim[GEMM_N], k = dim[GEMM_K], columns = n - n0 < TILE ? n - n0 : TILE;
    double tile[TILE][TILE];
    for (int64_t k0 = 0; k0 < k; k0 += TILE) {
        const int64_t depth = k - k0 < TILE ? k - k0 : TILE;
        for (int64_t j = 0; j < columns; j++)
            for (int64_t i = 0; i < depth; i++)
                tile[i][j] = element(dim, buffer, GEMM_B, n0 + j, k0 + i);
        for (int64_t row = 0; row < m; row++) {
            double *r = ref + row * n + n0, *g = mag + row * n + n0;
            for (int64_t i = 0; i < depth; i++) {
                const double x = element(dim, buffer, GEMM_A, row, k0 + i);
                for (int64_t j = 0; j < columns; j++) {
                    r[j] += x * tile[i][j];
                    g[j] += fabs(x * tile[i][j]);
                }
            }
        }
    }
}

void gemm_reference(const int64_t *dim, gemm_element_fn *element, void *const *buffer, double *ref, double *mag)
{
    memset(ref, 0, (size_t)(dim[GEMM_M] * dim[GEMM_N]) * sizeof *ref);
    memset(mag, 0, (size_t)(dim[GEMM_M] * dim[GEMM_N]) * sizeof *mag);
#pragma omp parallel for schedule(dynamic)
    for (int64_t n0 = 0; n0 < dim[GEMM_N]; n0 += TILE)
        reference_columns(dim, element, buffer, n0, ref, mag);
}

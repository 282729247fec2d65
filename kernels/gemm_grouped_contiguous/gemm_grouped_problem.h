/* SPDX-License-Identifier: Apache-2.0 */
/* Host code that the grouped families share: axes, buffers, scales, reference. Every group has its own B [n, k] and
 * scale_b; how rows of A come to a group is the family's. */
#ifndef RIDGE_GEMM_GROUPED_PROBLEM_H
#define RIDGE_GEMM_GROUPED_PROBLEM_H

#include "kernels/gemm_fp8_tensor/gemm_fp8.h"
#include "kernels/gemm_grouped_contiguous/gemm_grouped.h"

#include <stdio.h>
#include <string.h>

#define GROUPED_AXIS_GROUPS                                                                                            \
    {                                                                                                                  \
        "groups", 1, 1 << 20, 1, "matrices B"                                                                          \
    }
#define GROUPED_AXES_N_K                                                                                               \
    {"n", 1, 1 << 20, 1, "rows of a B, columns of D"},                                                                 \
    {                                                                                                                  \
        "k", 1, 1 << 20, 1, "length of the sums"                                                                       \
    }

#define GROUPED_TOLERANCE                                                                                              \
    {                                                                                                                  \
        .rel = 0x1p-8, .mag_rel = 0x1p-9,                                                                              \
        .source = "rel: BF16 has 8 significant bits, so rounding the result is at most 2^-8 of it. mag_rel: a WGMMA "  \
                  "aligns its 32 products and the accumulator to the largest of them and keeps 13 bits below its "     \
                  "leading one (about 14 bits: DeepSeek-V3, arXiv 2412.19437, 3.3.2). Simulated, beyond rel: 2^-13.4 " \
                  "of the sum of absolute products on normal inputs, 2^-9.4 with outliers"                             \
    }

static inline double grouped_count_b(const int64_t *dim)
{
    return (double)dim[GROUPED_GROUPS] * (double)dim[GROUPED_N] * (double)dim[GROUPED_K];
}

static inline double grouped_count_scale_b(const int64_t *dim)
{
    return (double)dim[GROUPED_GROUPS] * (double)gemm_fp8_block_count(dim[GROUPED_N]) *
           (double)gemm_fp8_block_count(dim[GROUPED_K]);
}

static inline int64_t grouped_output_columns(const int64_t *dim)
{
    return dim[GROUPED_N];
}

static inline void grouped_fill_scale_b(const int64_t *dim, uint64_t seed, float *scale_b)
{
    const int64_t count = (int64_t)grouped_count_scale_b(dim);
    for (int64_t i = 0; i < count; i++)
        scale_b[i] = gemm_fp8_scale(seed + 1, i);
}

/* Useful work on the rows a group that the shape names; rows_written: of D. */
static inline void grouped_work(const int64_t *dim, double rows_written, double index_bytes, struct ridge_work *work)
{
    const double rows = (double)dim[GROUPED_GROUPS] * (double)dim[GROUPED_ROWS];
    const double n = (double)dim[GROUPED_N], k = (double)dim[GROUPED_K];
    const double blocks = (double)gemm_fp8_block_count(dim[GROUPED_K]);
    work->flop_fp8 = 2 * rows * n * k;
    work->flop_fp32 = 2 * rows * n * blocks;
    work->bytes_hbm_read =
        rows * k + grouped_count_b(dim) + 4 * (rows * blocks + grouped_count_scale_b(dim)) + index_bytes;
    work->bytes_hbm_write = 2 * rows_written * n;
}

/* dim: rows, n, k, pitch of scale_a. */
static inline double grouped_element(const int64_t *dim, void *const *buffer, int operand, int64_t row, int64_t i)
{
    const int64_t k = dim[GEMM_K], block = i / 128;
    const float scale = operand == GEMM_A
                            ? ((const float *)buffer[GROUPED_SCALE_A])[block * dim[GEMM_K + 1] + row]
                            : ((const float *)buffer[GROUPED_SCALE_B])[row / 128 * gemm_fp8_block_count(k) + block];
    return (double)e4m3_to_f32(((const uint8_t *)buffer[operand])[row * k + i]) * scale;
}

/* Neighbouring rows of one group. */
struct grouped_run {
    int64_t row, rows; /* of A and D */
    int64_t group;
    int64_t scale_a; /* index of the first row's scale in its first block of k */
    int64_t pitch;   /* of scale_a */
};

static inline void grouped_reference(const int64_t *dim, void *const *buffer, const struct grouped_run *run,
                                     double *ref, double *mag)
{
    const int64_t n = dim[GROUPED_N], k = dim[GROUPED_K];
    const int64_t scales_b = gemm_fp8_block_count(n) * gemm_fp8_block_count(k);
    const int64_t run_dim[RIDGE_MAX_AXES] = {run->rows, n, k, run->pitch};
    void *const part[] = {
        (uint8_t *)buffer[GROUPED_A] + run->row * k, (uint8_t *)buffer[GROUPED_B] + run->group * n * k,
        (float *)buffer[GROUPED_SCALE_A] + run->scale_a, (float *)buffer[GROUPED_SCALE_B] + run->group * scales_b};
    gemm_reference(run_dim, grouped_element, part, ref + run->row * n, mag + run->row * n);
}

/* gemm_cases on all rows and all groups. */
static inline void grouped_harden(const int64_t *dim, int64_t rows, int hard, uint64_t seed, void *const *buffer)
{
    const int64_t all[RIDGE_MAX_AXES] = {rows, dim[GROUPED_GROUPS] * dim[GROUPED_N], dim[GROUPED_K]};
    gemm_fp8_harden(all, hard, seed, buffer);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/attention_bf16/attention_bf16.h"

#include "kernels/kernel.h"
#include "kernels/support/numeric.h"

#include <math.h>
#include <string.h>

enum { RISING = 1, TILE = 64 };

static double count_lse(const int64_t *dim)
{
    return (double)dim[ATTENTION_B] * (double)dim[ATTENTION_H] * (double)dim[ATTENTION_S_Q];
}

static double count_q(const int64_t *dim)
{
    return count_lse(dim) * ATTENTION_DIM;
}

static double count_kv(const int64_t *dim)
{
    return (double)dim[ATTENTION_B] * (double)dim[ATTENTION_S_K] * (double)dim[ATTENTION_H] * ATTENTION_DIM;
}

static const struct ridge_shape shapes[] = {
    {"prefill-1x2048", RIDGE_QUICK, RIDGE_CUDA, {1, 2048, 2048, 16}},
    {"prefill-4x4096", RIDGE_STANDARD, RIDGE_CUDA, {4, 4096, 4096, 16}},
    {"prefill-16x1024", RIDGE_FULL, RIDGE_CUDA, {16, 1024, 1024, 16}},
    {"prefill-1x16384", RIDGE_FULL, RIDGE_CUDA, {1, 16384, 16384, 16}},
    {"prefill-1x256", RIDGE_QUICK, RIDGE_HOST, {1, 256, 256, 2}},
    {"prefill-1x1024", RIDGE_STANDARD, RIDGE_HOST, {1, 1024, 1024, 4}},
};

static const int64_t check_dims[][RIDGE_MAX_AXES] = {
    {1, 1, 1, 1}, {1, 3, 5, 2}, {2, 64, 64, 1}, {2, 130, 129, 2}, {3, 65, 300, 1}, {1, 200, 177, 3}, {2, 2, 513, 4},
};

static const char *const cases[] = {"rising", NULL};

/* rising: scores of standard deviation 3 on a ramp along s_k (1/16 a key, 64 in all at most), so that the running
 * maximum rises again and again and everything accumulated before must be rescaled. The ramp is q[0] k[0]. */
static void fill(const int64_t *dim, int hard, uint64_t seed, void *const *buffer)
{
    (void)seed;
    if (hard != RISING)
        return;
    const int64_t keys = dim[ATTENTION_S_K], queries = (int64_t)count_lse(dim);
    const int64_t rows = (int64_t)count_kv(dim) / ATTENTION_DIM;
    uint16_t *q = buffer[ATTENTION_Q], *k = buffer[ATTENTION_K];
    for (int64_t i = 0; i < queries; i++)
        q[i * ATTENTION_DIM] = bf16_from_f32((float)(1 / ATTENTION_SCALE));
    const double slope = keys > 1024 ? 64.0 / (double)keys : 1.0 / 16;
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t i = 1; i < ATTENTION_DIM; i++)
            k[row * ATTENTION_DIM + i] = bf16_from_f32(3 * bf16_to_f32(k[row * ATTENTION_DIM + i]));
        k[row * ATTENTION_DIM] = bf16_from_f32((float)(slope * (double)(row / dim[ATTENTION_H] % keys)));
    }
}

struct row {
    double *out, *out_mag, *lse, *lse_mag;
};

/* 64 times what the tolerance allows: |out| 2^-8 + 2^-6 of the root mean square of the row's 64 columns around it,
 * |lse| 8.01 / 65536 + 1e-6 (1 + largest sum of |q k| scale). */
static void magnitudes(struct row *row, double largest)
{
    for (int tile = 0; tile < ATTENTION_DIM; tile += TILE) {
        double squares = 0;
        for (int i = tile; i < tile + TILE; i++)
            squares += row->out[i] * row->out[i];
        for (int i = tile; i < tile + TILE; i++)
            row->out_mag[i] = fabs(row->out[i]) / 4 + sqrt(squares / TILE);
    }
    *row->lse_mag = 64 * (8.01 / 65536 * fabs(*row->lse) + 1e-6 * (1 + largest));
}

/* One query row. Two passes over the keys: the maximum, then the sums. */
static void reference_row(const int64_t *dim, const uint16_t *q, const uint16_t *k, const uint16_t *v, struct row row)
{
    const int64_t stride = dim[ATTENTION_H] * ATTENTION_DIM;
    double max = -INFINITY, sum = 0, largest = 0;
    memset(row.out, 0, ATTENTION_DIM * sizeof *row.out);
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t key = 0; key < dim[ATTENTION_S_K]; key++) {
            double score = 0, magnitude = 0;
            for (int i = 0; i < ATTENTION_DIM; i++) {
                const double term = ATTENTION_SCALE * bf16_to_f32(q[i]) * bf16_to_f32(k[key * stride + i]);
                score += term;
                magnitude += fabs(term);
            }
            largest = fmax(largest, magnitude);
            if (pass == 0) {
                max = score > max || isnan(score) ? score : max;
                continue;
            }
            const double p = exp(score - max);
            sum += p;
            for (int i = 0; i < ATTENTION_DIM; i++)
                row.out[i] += p * bf16_to_f32(v[key * stride + i]);
        }
    }
    for (int i = 0; i < ATTENTION_DIM; i++)
        row.out[i] /= sum;
    *row.lse = max + log(sum);
    magnitudes(&row, largest);
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    const uint16_t *q = buffer[ATTENTION_Q], *k = buffer[ATTENTION_K], *v = buffer[ATTENTION_V];
    const int64_t heads = dim[ATTENTION_H], queries = dim[ATTENTION_S_Q];
#pragma omp parallel for collapse(3)
    for (int64_t b = 0; b < dim[ATTENTION_B]; b++) {
        for (int64_t i = 0; i < queries; i++) {
            for (int64_t h = 0; h < heads; h++) {
                const int64_t at = ((b * queries + i) * heads + h) * ATTENTION_DIM;
                const int64_t keys = (b * dim[ATTENTION_S_K] * heads + h) * ATTENTION_DIM;
                const int64_t l = (b * heads + h) * queries + i;
                reference_row(dim, q + at, k + keys, v + keys,
                              (struct row){ref[0] + at, mag[0] + at, ref[1] + l, mag[1] + l});
            }
        }
    }
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    const double scores = count_lse(dim) * (double)dim[ATTENTION_S_K];
    work->flop_bf16 = 4 * scores * ATTENTION_DIM;
    work->exp = scores;
    work->bytes_hbm_read = 2 * (count_q(dim) + 2 * count_kv(dim));
    work->bytes_hbm_write = 2 * count_q(dim) + 4 * count_lse(dim);
}

static int64_t output_columns(const int64_t *dim)
{
    (void)dim;
    return ATTENTION_DIM;
}

const struct ridge_family ridge_family_attention_bf16 = {
    .problem = "out[b,s_q,h,128] BF16 = softmax(q k^T / sqrt(128)) v and lse[b,h,s_q] FP32 (natural log), not causal; "
               "q [b,s_q,h,128], k and v [b,s_k,h,128] BF16",
    .axes = 4,
    .axis =
        {
            {"b", 1, 1 << 16, 1, "requests"},
            {"s_q", 1, 1 << 20, 1, "query tokens a request"},
            {"s_k", 1, 1 << 24, 1, "key tokens a request"},
            {"h", 1, 1 << 10, 1, "heads, each with keys and values of its own"},
        },
    .buffers = 5,
    .buffer =
        {
            {"q", RIDGE_BF16, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, count_q},
            {"k", RIDGE_BF16, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, count_kv},
            {"v", RIDGE_BF16, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, count_kv},
            {"out", RIDGE_BF16, RIDGE_OUTPUT, RIDGE_FILL_NORMAL, 0, count_q},
            {"lse", RIDGE_F32, RIDGE_OUTPUT, RIDGE_FILL_NORMAL, 0, count_lse},
        },
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .cases = cases,
    .tolerance = {.rel = 0,
                  .mag_rel = 0x1p-6,
                  .source = "out: 2^-8 |ref| + 2^-6 RMS(row, 64 columns), as mla_decode derives it: the result is "
                            "rounded to BF16, and the probabilities may be. lse: 8.01 / 65536 |ref| + 1e-6 (1 + sum "
                            "|q k| / sqrt(128))"},
    .fill = fill,
    .reference = reference,
    .work = work,
    .output_columns = output_columns,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernel.h"

#include <math.h>
#include <string.h>

enum { B, S_Q, S_K, H, DIM, MAX_DIM = 256 };
enum { RISING = 1 };

static double count_q(const int64_t *dim)
{
    return (double)dim[B] * (double)dim[S_Q] * (double)dim[H] * (double)dim[DIM];
}

static double count_kv(const int64_t *dim)
{
    return (double)dim[B] * (double)dim[S_K] * (double)dim[H] * (double)dim[DIM];
}

static double count_lse(const int64_t *dim)
{
    return (double)dim[B] * (double)dim[H] * (double)dim[S_Q];
}

static const struct ridge_shape shapes[] = {
    {"decode-4x2048", RIDGE_QUICK, RIDGE_CUDA, {4, 1, 2048, 32, 128}},
    {"decode-16x4096", RIDGE_STANDARD, RIDGE_CUDA, {16, 1, 4096, 32, 128}},
    {"decode-1x32768", RIDGE_STANDARD, RIDGE_CUDA, {1, 1, 32768, 32, 128}},
    {"decode-64x4096", RIDGE_FULL, RIDGE_CUDA, {64, 1, 4096, 32, 128}},
    {"decode-mtp", RIDGE_FULL, RIDGE_CUDA, {16, 2, 4096, 32, 128}},
    {"decode-dim64", RIDGE_FULL, RIDGE_CUDA, {16, 1, 4096, 64, 64}},
    {"decode-1x512", RIDGE_QUICK, RIDGE_HOST, {1, 1, 512, 8, 64}},
    {"decode-1x4096", RIDGE_STANDARD, RIDGE_HOST, {1, 1, 4096, 8, 128}},
    {"decode-2x8192", RIDGE_FULL, RIDGE_HOST, {2, 1, 8192, 16, 128}},
};

static const int64_t check_dims[][RIDGE_MAX_AXES] = {
    {1, 1, 1, 1, 8},    {1, 1, 3, 2, 16},   {2, 3, 5, 3, 24},   {1, 1, 64, 4, 128},
    {3, 2, 129, 5, 64}, {2, 1, 500, 3, 40}, {1, 7, 33, 2, 256}, {2, 1, 513, 4, 128},
};

static const char *const cases[] = {"rising", NULL};

/* rising: scores of standard deviation 3 on a ramp along s_k (1/16 a key, 64 in all at most), so that the running
 * maximum rises again and again and everything accumulated before must be rescaled. The ramp is q[0] k[0]. */
static void fill(const int64_t *dim, int hard, uint64_t seed, void *const *buffer)
{
    (void)seed;
    if (hard != RISING)
        return;
    const int64_t d = dim[DIM], keys = dim[S_K], queries = (int64_t)count_q(dim) / d, rows = (int64_t)count_kv(dim) / d;
    float *q = buffer[0], *k = buffer[1];
    for (int64_t i = 0; i < queries; i++)
        q[i * d] = sqrtf((float)d);
    const double slope = keys > 1024 ? 64.0 / (double)keys : 1.0 / 16;
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t i = 1; i < d; i++)
            k[row * d + i] *= 3;
        k[row * d] = (float)(slope * (double)(row / dim[H] % keys));
    }
}

/* One query row. Two passes over the keys: the maximum, then the sums. */
static void reference_row(const int64_t *dim, const float *q, const float *k, const float *v, double *out,
                          double *out_mag, double *lse)
{
    const int64_t d = dim[DIM], stride = dim[H] * d;
    const double scale = 1 / sqrt((double)d);
    double max = -INFINITY, sum = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t key = 0; key < dim[S_K]; key++) {
            double score = 0;
            for (int64_t i = 0; i < d; i++)
                score += (double)q[i] * k[key * stride + i];
            score *= scale;
            if (pass == 0) {
                max = score > max || isnan(score) ? score : max;
                continue;
            }
            const double p = exp(score - max);
            sum += p;
            for (int64_t i = 0; i < d; i++) {
                out[i] += p * v[key * stride + i];
                out_mag[i] += p * fabs(v[key * stride + i]);
            }
        }
    }
    for (int64_t i = 0; i < d; i++) {
        out[i] /= sum;
        out_mag[i] /= sum;
    }
    *lse = max + log(sum);
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    const float *q = buffer[0], *k = buffer[1], *v = buffer[2];
    const int64_t d = dim[DIM], heads = dim[H], queries = dim[S_Q];
    memset(ref[0], 0, (size_t)count_q(dim) * sizeof(double));
    memset(mag[0], 0, (size_t)count_q(dim) * sizeof(double));
#pragma omp parallel for collapse(3)
    for (int64_t b = 0; b < dim[B]; b++) {
        for (int64_t i = 0; i < queries; i++) {
            for (int64_t h = 0; h < heads; h++) {
                const int64_t row = ((b * queries + i) * heads + h) * d, keys = (b * dim[S_K] * heads + h) * d;
                const int64_t at = (b * heads + h) * queries + i;
                reference_row(dim, q + row, k + keys, v + keys, ref[0] + row, mag[0] + row, ref[1] + at);
                mag[1][at] = 1 + fabs(ref[1][at]);
            }
        }
    }
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    const double scores = count_lse(dim) * (double)dim[S_K];
    work->flop_fp32 = 4 * scores * (double)dim[DIM];
    work->exp = scores;
    work->bytes_hbm_read = 4 * (count_q(dim) + 2 * count_kv(dim));
    work->bytes_hbm_write = 4 * (count_q(dim) + count_lse(dim));
}

static int64_t output_columns(const int64_t *dim)
{
    return dim[DIM];
}

const struct ridge_family ridge_family_attention_f32 = {
    .problem = "out[b,s_q,h,dim] = softmax(q k^T / sqrt(dim)) v and lse[b,h,s_q] (natural log), FP32, not causal; "
               "q [b,s_q,h,dim], k and v [b,s_k,h,dim]",
    .axes = 5,
    .axis =
        {
            {"b", 1, 1 << 16, 1, "requests"},
            {"s_q", 1, 1 << 16, 1, "query tokens a request"},
            {"s_k", 1, 1 << 24, 1, "key tokens a request"},
            {"h", 1, 1 << 10, 1, "heads"},
            {"dim", 8, MAX_DIM, 8, "elements a head"},
        },
    .buffers = 5,
    .buffer =
        {
            {"q", RIDGE_F32, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, count_q},
            {"k", RIDGE_F32, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, count_kv},
            {"v", RIDGE_F32, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, count_kv},
            {"out", RIDGE_F32, RIDGE_OUTPUT, RIDGE_FILL_NORMAL, 0, count_q},
            {"lse", RIDGE_F32, RIDGE_OUTPUT, RIDGE_FILL_NORMAL, 0, count_lse},
        },
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .cases = cases,
    .tolerance = {.rel = 0,
                  .mag_rel = 0x1p-14,
                  .source =
                      "2^-14 of sum p |v| (out) and of 1 + |lse|. A score of magnitude up to 128 that is rounded three "
                      "times (dot product, scale, log2 e), u = 2^-24 each, is off by at most 3 128 u = 2^-15.4; "
                      "every p is off by that share, in the numerator and in the sum: twice as much in out"},
    .fill = fill,
    .reference = reference,
    .work = work,
    .output_columns = output_columns,
};

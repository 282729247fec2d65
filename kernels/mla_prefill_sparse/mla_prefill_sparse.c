/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_prefill_sparse/mla_prefill_sparse.h"

#include "kernels/support/fill.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { INVALID_INDICES = 1, RISING, POISONED_ROWS };
enum { BLOCK = 64, TILE = 64 };

static double count_lse(const int64_t *dim)
{
    return (double)dim[PREFILL_S_Q] * (double)dim[PREFILL_H];
}

static double count_q(const int64_t *dim)
{
    return count_lse(dim) * (double)dim[PREFILL_D_QK];
}

static double count_kv(const int64_t *dim)
{
    return (double)dim[PREFILL_S_KV] * (double)dim[PREFILL_D_QK];
}

static double count_indices(const int64_t *dim)
{
    return (double)dim[PREFILL_S_Q] * (double)dim[PREFILL_TOPK];
}

static double count_out(const int64_t *dim)
{
    return count_lse(dim) * PREFILL_D_V;
}

/* s_q beyond 65535 is beyond what a grid has in its second dimension. */
static const struct ridge_shape shapes[] = {
    {"prefill-8192", RIDGE_STANDARD, RIDGE_CUDA, {4096, 8192, 128, 2048, 576}},
    {"prefill-32768", RIDGE_FULL, RIDGE_CUDA, {4096, 32768, 128, 2048, 576}},
    {"prefill-131072", RIDGE_FULL, RIDGE_CUDA, {4096, 131072, 128, 2048, 576}},
    {"d512-h128-32768", RIDGE_FULL, RIDGE_CUDA, {4096, 32768, 128, 1024, 512}},
    {"d512-h64-8192", RIDGE_FULL, RIDGE_CUDA, {4096, 8192, 64, 512, 512}},
    {"queries-70000", RIDGE_FULL, RIDGE_CUDA, {70000, 4096, 1, 64, 576}},
    {"prefill-16x256", RIDGE_QUICK, RIDGE_HOST, {16, 256, 16, 128, 576}},
    {"prefill-64x4096", RIDGE_STANDARD, RIDGE_HOST, {64, 4096, 16, 512, 576}},
};

static const int64_t check_dims[][RIDGE_MAX_AXES] = {
    {1, 1, 1, 64, 576},     {4, 95, 2, 128, 576},   {5, 592, 3, 192, 512},
    {3, 153, 64, 256, 576}, {4, 114, 65, 384, 512}, {2, 1521, 128, 512, 576},
};

static const char *const cases[] = {"invalid indices", "rising", "poisoned rows", NULL};

static const char *shape_error(const int64_t *dim)
{
    return count_q(dim) > 0x1p40 || count_kv(dim) > 0x1p40 ? "s_q, h, s_kv: q and kv must have at most 2^40 elements"
                                                           : NULL;
}

/* Values that a list may hold for "none", and their like. */
static int32_t no_key(const int64_t *dim, uint64_t bits)
{
    const int32_t value[] = {-1, INT32_MIN, -123456, INT32_MAX, (int32_t)dim[PREFILL_S_KV], -2};
    return value[bits % (sizeof value / sizeof *value)];
}

/* Of every four queries one has every other index, at random, one none, one its last, one its first 64. */
static bool has_key(const int64_t *dim, int64_t query, int64_t i, uint64_t bits)
{
    switch (query % 4) {
    case 0:
        return bits & 1;
    case 1:
        return false;
    case 2:
        return i == dim[PREFILL_TOPK] - 1;
    default:
        return i < BLOCK;
    }
}

static void fill_invalid(const int64_t *dim, uint64_t seed, int32_t *indices)
{
    for (int64_t query = 0; query < dim[PREFILL_S_Q]; query++)
        for (int64_t i = 0; i < dim[PREFILL_TOPK]; i++) {
            const int64_t at = query * dim[PREFILL_TOPK] + i;
            const uint64_t bits = fill_hash(seed + 41, (uint64_t)at);
            if (!has_key(dim, query, i, bits))
                indices[at] = no_key(dim, bits >> 8);
        }
}

/* The first and the last row hold NaN, and no valid index names them: what stands for an invalid index must not be
 * read, since 0 x NaN is NaN. */
static void fill_poisoned(const int64_t *dim, uint64_t seed, void *const *buffer)
{
    const int64_t last = dim[PREFILL_S_KV] - 1, width = dim[PREFILL_D_QK];
    int32_t *indices = buffer[PREFILL_INDICES];
    uint16_t *kv = buffer[PREFILL_KV];
    fill_invalid(dim, seed, indices);
    for (int64_t i = 0; i < dim[PREFILL_S_Q] * dim[PREFILL_TOPK]; i++)
        if (indices[i] == 0 || indices[i] == last)
            indices[i] = last > 1 ? 1 : -1;
    memset(kv, 0xff, (size_t)width * sizeof *kv);
    memset(kv + last * width, 0xff, (size_t)width * sizeof *kv);
}

/* Lists in the order of the rows, scores of standard deviation 3 and on top a ramp of 8 every 64 places of a list (512
 * in all at most, exact in BF16), so that the maximum rises with every block. The ramp is in the last column, which is
 * in no value if d_qk is 576. */
static void fill_rising(const int64_t *dim, void *const *buffer)
{
    const int64_t width = dim[PREFILL_D_QK], topk = dim[PREFILL_TOPK], blocks = topk / BLOCK;
    const double step = blocks > 64 ? 512.0 / (double)blocks : 8;
    uint16_t *q = buffer[PREFILL_Q], *kv = buffer[PREFILL_KV];
    int32_t *indices = buffer[PREFILL_INDICES];
    for (int64_t i = 0; i < dim[PREFILL_S_Q] * topk; i++)
        indices[i] = (int32_t)(i % topk * dim[PREFILL_S_KV] / topk);
    for (int64_t i = 1; i <= dim[PREFILL_S_Q] * dim[PREFILL_H]; i++)
        q[i * width - 1] = bf16_from_f32(1 / PREFILL_SCALE);
    for (int64_t row = 0; row < dim[PREFILL_S_KV]; row++) {
        for (int64_t i = 0; i < width - 1; i++)
            kv[row * width + i] = bf16_from_f32(3 * bf16_to_f32(kv[row * width + i]));
        kv[(row + 1) * width - 1] = bf16_from_f32((float)(step * (double)(row * blocks / dim[PREFILL_S_KV])));
    }
}

static void fill(const int64_t *dim, int hard, uint64_t seed, void *const *buffer)
{
    int32_t *indices = buffer[PREFILL_INDICES];
    for (int64_t i = 0; i < dim[PREFILL_S_Q] * dim[PREFILL_TOPK]; i++)
        indices[i] = (int32_t)(fill_hash(seed, (uint64_t)i) % (uint64_t)dim[PREFILL_S_KV]);
    if (hard == INVALID_INDICES)
        fill_invalid(dim, seed, indices);
    if (hard == RISING)
        fill_rising(dim, buffer);
    if (hard == POISONED_ROWS)
        fill_poisoned(dim, seed, buffer);
}

struct row {
    double *out, *out_mag, *max, *max_mag, *lse, *lse_mag;
};

/* q k / 24, and what its rounding is held against, |q| |k| / 24. */
static double score_of(const int64_t *dim, const uint16_t *q, const uint16_t *k, double *norms)
{
    double sum = 0, qq = 0, kk = 0;
    for (int64_t i = 0; i < dim[PREFILL_D_QK]; i++) {
        const double x = bf16_to_f32(q[i]), y = bf16_to_f32(k[i]);
        sum += x * y;
        qq += x * x;
        kk += y * y;
    }
    *norms = sqrt(qq * kk) / 24;
    return sum / 24;
}

/* 64 times what the tolerance allows. */
static void magnitudes(struct row *row, double norms)
{
    for (int tile = 0; tile < PREFILL_D_V; tile += TILE) {
        double squares = 0;
        for (int i = tile; i < tile + TILE; i++)
            squares += row->out[i] * row->out[i];
        for (int i = tile; i < tile + TILE; i++)
            row->out_mag[i] = fabs(row->out[i]) / 4 + sqrt(squares / TILE);
    }
    *row->max_mag = isinf(*row->max) ? 0 : 64 * (2.01 / 65536 * fabs(*row->max) + 1e-6 * (1 + norms));
    *row->lse_mag = isinf(*row->lse) ? 0 : 64 * (2.01 / 65536 * fabs(*row->lse) + 1e-6 * (1 + norms));
}

/* Two passes over the keys: the maximum, then the sums. */
static void reference_row(const int64_t *dim, const uint16_t *q, const uint16_t *kv, const int32_t *indices,
                          struct row row)
{
    double max = -INFINITY, sum = 0, norms, largest = 0;
    memset(row.out, 0, PREFILL_D_V * sizeof *row.out);
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t j = 0; j < dim[PREFILL_TOPK]; j++) {
            const uint16_t *k = prefill_key(dim, kv, indices[j]);
            if (!k)
                continue;
            const double score = score_of(dim, q, k, &norms);
            largest = fmax(largest, norms);
            if (pass == 0) {
                max = score > max || isnan(score) ? score : max;
                continue;
            }
            const double p = exp(score - max);
            sum += p;
            for (int i = 0; i < PREFILL_D_V; i++)
                row.out[i] += p * bf16_to_f32(k[i]);
        }
    }
    for (int i = 0; i < PREFILL_D_V; i++)
        row.out[i] = max == -INFINITY ? 0 : row.out[i] / sum;
    *row.max = max;
    *row.lse = max == -INFINITY ? INFINITY : max + log(sum);
    magnitudes(&row, largest);
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    const uint16_t *q = buffer[PREFILL_Q];
    const int32_t *indices = buffer[PREFILL_INDICES];
#pragma omp parallel for collapse(2) schedule(dynamic)
    for (int64_t query = 0; query < dim[PREFILL_S_Q]; query++) {
        for (int64_t head = 0; head < dim[PREFILL_H]; head++) {
            const int64_t at = query * dim[PREFILL_H] + head, out = at * PREFILL_D_V;
            reference_row(dim, q + at * dim[PREFILL_D_QK], buffer[PREFILL_KV], indices + query * dim[PREFILL_TOPK],
                          (struct row){ref[0] + out, mag[0] + out, ref[1] + at, mag[1] + at, ref[2] + at, mag[2] + at});
        }
    }
}

/* All indices valid. Of kv what the lists name, which is everything once they are longer together. */
static void work(const int64_t *dim, struct ridge_work *work)
{
    const double scores = count_lse(dim) * (double)dim[PREFILL_TOPK], rows = (double)dim[PREFILL_S_KV];
    work->flop_bf16 = 2 * scores * (double)(dim[PREFILL_D_QK] + PREFILL_D_V);
    work->exp = scores;
    work->bytes_hbm_read =
        2 * (count_q(dim) + fmin(rows, count_indices(dim)) * (double)dim[PREFILL_D_QK]) + 4 * count_indices(dim);
    work->bytes_hbm_write = 2 * count_out(dim) + 8 * count_lse(dim);
}

static int64_t output_columns(const int64_t *dim)
{
    (void)dim;
    return PREFILL_D_V;
}

const struct ridge_family ridge_family_mla_prefill_sparse = {
    .problem = "absorbed multi-head latent attention over a list of keys a query: out[s_q,h,512] BF16 = "
               "softmax(q k^T / 24) v, max_logits[s_q,h] and lse[s_q,h] FP32 (natural logarithm); q [s_q,h,d_qk] and "
               "kv [s_kv,1,d_qk] BF16, v = first 512 of k, indices [s_q,topk] int32 of rows of kv, any other value "
               "none",
    .axes = 5,
    .axis =
        {
            {"s_q", 1, 1 << 24, 1, "query tokens"},
            {"s_kv", 1, 1 << 30, 1, "rows of keys"},
            {"h", 1, 1 << 10, 1, "query heads; all share one key"},
            {"topk", 64, 1 << 16, 64, "indices a query"},
            {"d_qk", 512, PREFILL_D_MAX, 64, "columns of q and of a key"},
        },
    .buffers = 6,
    .buffer =
        {
            {"q", RIDGE_BF16, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, count_q},
            {"kv", RIDGE_BF16, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, count_kv},
            {"indices", RIDGE_I32, RIDGE_INPUT, RIDGE_FILL_CUSTOM, 0, count_indices},
            {"out", RIDGE_BF16, RIDGE_OUTPUT, RIDGE_FILL_NORMAL, 0, count_out},
            {"max_logits", RIDGE_F32, RIDGE_OUTPUT, RIDGE_FILL_NORMAL, 0, count_lse},
            {"lse", RIDGE_F32, RIDGE_OUTPUT, RIDGE_FILL_NORMAL, 0, count_lse},
        },
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .cases = cases,
    .tolerance =
        {.rel = 0,
         .mag_rel = 0x1p-6,
         .source =
             "out: 2^-8 |ref| + 2^-6 RMS(row, 64 columns), as mla_decode. max_logits, lse: 2.01 / 65536 |ref|, as "
             "FlashMLA's tests/test_flash_mla_sparse_prefill.py, + 1e-6 (1 + |q| |k| / 24) for where it is small"},
    .shape_error = shape_error,
    .fill = fill,
    .reference = reference,
    .work = work,
    .output_columns = output_columns,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_decode/mla_decode.h"

#include <math.h>
#include <omp.h>

enum { BLOCK = 16 };

/* Softmax over some of the keys: maximum, sum of exponentials below it, and the values weighted by them. */
struct running {
    float m, l, acc[MLA_D_V];
};

static int64_t splits_of(const int64_t *dim)
{
    const int64_t blocks = (dim[MLA_S_K] + BLOCK - 1) / BLOCK, threads = omp_get_max_threads();
    return blocks < threads ? blocks : threads;
}

static size_t workspace_bytes(const int64_t *dim, const struct ridge_device *device)
{
    (void)device;
    return (size_t)(splits_of(dim) * dim[MLA_B] * mla_rows(dim)) * sizeof(struct running);
}

static void rescale(struct running *run, float m)
{
    const float factor = run->m == m ? 1 : expf(run->m - m);
    run->m = m;
    run->l *= factor;
    for (int i = 0; i < MLA_D_V; i++)
        run->acc[i] *= factor;
}

/* Adds the first `keys` of a block: one rescaling for all of them. */
static void add_keys(struct running *run, const float *q, float (*k)[MLA_D_K], int64_t keys)
{
    float score[BLOCK], m = run->m;
    for (int64_t j = 0; j < keys; j++) {
        score[j] = mla_dot(q, k[j]) * MLA_SCALE;
        m = fmaxf(m, score[j]);
    }
    rescale(run, m);
    for (int64_t j = 0; j < keys; j++) {
        const float p = expf(score[j] - m);
        run->l += p;
        for (int i = 0; i < MLA_D_V; i++)
            run->acc[i] += p * k[j][i];
    }
}

/* Keys [first, end) of request b, all rows on a block before the next block. */
static void split(const struct ridge_call *call, int64_t b, int64_t first, int64_t end, struct running *run)
{
    const int64_t *dim = call->dim, rows = mla_rows(dim);
    const int32_t *length = call->buffer[MLA_LENGTH];
    const uint16_t *q = call->buffer[MLA_Q], *kv = call->buffer[MLA_KV];
    float query[MLA_D_K], k[BLOCK][MLA_D_K];
    for (int64_t r = 0; r < rows; r++) {
        run[r].m = -INFINITY;
        run[r].l = 0;
        for (int i = 0; i < MLA_D_V; i++)
            run[r].acc[i] = 0;
    }
    for (int64_t at = first; at < end; at += BLOCK) {
        const int64_t block_end = end < at + BLOCK ? end : at + BLOCK;
        for (int64_t j = at; j < block_end; j++)
            mla_load_row(kv + mla_key_offset(dim, call->buffer[MLA_BLOCK_TABLE], b, j), k[j - at]);
        for (int64_t r = 0; r < rows; r++) {
            const int64_t visible = mla_visible(dim, length[b], r / dim[MLA_H]);
            if (visible <= at)
                continue;
            mla_load_row(q + (b * rows + r) * MLA_D_K, query);
            add_keys(run + r, query, k, (visible < block_end ? visible : block_end) - at);
        }
    }
}

/* Merges the splits' sums into run[0]; writes one row of the output. run[0], run[step], ... */
static float combine(struct running *run, int64_t splits, int64_t step, uint16_t *out)
{
    for (int64_t s = 1; s < splits; s++) {
        struct running *other = run + s * step;
        const float m = fmaxf(run->m, other->m);
        rescale(run, m);
        rescale(other, m);
        run->l += other->l;
        for (int i = 0; i < MLA_D_V; i++)
            run->acc[i] += other->acc[i];
    }
    for (int i = 0; i < MLA_D_V; i++)
        out[i] = bf16_from_f32(run->l == 0 ? 0 : run->acc[i] / run->l);
    return run->l == 0 ? INFINITY : run->m + logf(run->l);
}

static int launch(const struct ridge_call *call)
{
    const int64_t *dim = call->dim, rows = mla_rows(dim), splits = splits_of(dim);
    const int32_t *length = call->buffer[MLA_LENGTH];
    uint16_t *out = call->buffer[MLA_OUT];
    float *lse = call->buffer[MLA_LSE];
    struct running *run = call->workspace;
    if (mla_check_inputs(call))
        return 1;
#pragma omp parallel for collapse(2)
    for (int64_t b = 0; b < dim[MLA_B]; b++) {
        for (int64_t s = 0; s < splits; s++) {
            const int64_t blocks = (length[b] + BLOCK - 1) / BLOCK;
            const int64_t first = blocks * s / splits * BLOCK, end = blocks * (s + 1) / splits * BLOCK;
            split(call, b, first, end < length[b] ? end : length[b], run + (b * splits + s) * rows);
        }
    }
#pragma omp parallel for collapse(2)
    for (int64_t b = 0; b < dim[MLA_B]; b++)
        for (int64_t r = 0; r < rows; r++)
            lse[mla_lse_offset(dim, b, r)] =
                combine(run + b * splits * rows + r, splits, rows, out + (b * rows + r) * MLA_D_V);
    return 0;
}

const struct ridge_variant ridge_variant_mla_decode_h02_flash_decode = {
    .idea = "online softmax; each cache row is widened once for all heads; keys split over the cores, then combined",
    .source = "Milakov and Gimelshein, arXiv:1805.02867; Dao et al., Flash-Decoding, 2023",
    .changes = "no scores in memory; the cache is read once a request instead of twice a row",
    .kind = RIDGE_HOST,
    .workspace_bytes = workspace_bytes,
    .launch = launch,
};

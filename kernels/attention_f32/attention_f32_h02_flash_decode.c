/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernel.h"

#include <math.h>
#include <omp.h>

enum { B, S_Q, S_K, H, DIM };
enum { BLOCK = 16, MAX_DIM = 256 };

/* Softmax over some of the keys: maximum, sum of exponentials below it, and the values weighted by them. */
struct running {
    float m, l, acc[MAX_DIM];
};

/* Every split has at least one block of keys. */
static int64_t splits_of(const int64_t *dim)
{
    const int64_t blocks = (dim[S_K] + BLOCK - 1) / BLOCK, threads = omp_get_max_threads();
    return blocks < threads ? blocks : threads;
}

static size_t workspace_bytes(const int64_t *dim, const struct ridge_device *device)
{
    (void)device;
    return (size_t)(splits_of(dim) * dim[B] * dim[S_Q] * dim[H]) * sizeof(struct running);
}

static float dot(const float *x, const float *y, int64_t n)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

static void rescale(struct running *run, float m, int64_t d)
{
    const float factor = expf(run->m - m);
    run->m = m;
    run->l *= factor;
    for (int64_t i = 0; i < d; i++)
        run->acc[i] *= factor;
}

/* Adds up to BLOCK keys of one head, `stride` elements apart: one rescaling for all of them. */
static void add_keys(struct running *run, const float *q, const float *k, const float *v, int64_t keys, int64_t stride,
                     int64_t d)
{
    const float scale = 1 / sqrtf((float)d);
    float score[BLOCK], m = run->m;
    for (int64_t j = 0; j < keys; j++) {
        score[j] = dot(q, k + j * stride, d) * scale;
        m = fmaxf(m, score[j]);
    }
    rescale(run, m, d);
    for (int64_t j = 0; j < keys; j++) {
        const float p = expf(score[j] - m);
        run->l += p;
        for (int64_t i = 0; i < d; i++)
            run->acc[i] += p * v[j * stride + i];
    }
}

/* Keys [first, end) of one request, all heads of a block of keys before the next block. q, k, v, run of the request. */
static void split(const int64_t *dim, const float *q, const float *k, const float *v, int64_t first, int64_t end,
                  struct running *run)
{
    const int64_t d = dim[DIM], stride = dim[H] * d, rows = dim[S_Q] * dim[H];
    for (int64_t row = 0; row < rows; row++)
        run[row] = (struct running){.m = -INFINITY};
    for (int64_t j = first; j < end; j += BLOCK) {
        for (int64_t row = 0; row < rows; row++) {
            const int64_t at = j * stride + row % dim[H] * d;
            add_keys(run + row, q + row * d, k + at, v + at, end - j < BLOCK ? end - j : BLOCK, stride, d);
        }
    }
}

/* Merges the splits' sums into run[0]; writes one row of the output. run[0], run[step], ... */
static float combine(struct running *run, int64_t splits, int64_t step, int64_t d, float *out)
{
    for (int64_t s = 1; s < splits; s++) {
        struct running *other = run + s * step;
        const float m = fmaxf(run->m, other->m);
        rescale(run, m, d);
        rescale(other, m, d);
        run->l += other->l;
        for (int64_t i = 0; i < d; i++)
            run->acc[i] += other->acc[i];
    }
    for (int64_t i = 0; i < d; i++)
        out[i] = run->acc[i] / run->l;
    return run->m + logf(run->l);
}

static int launch(const struct ridge_call *call)
{
    const int64_t *dim = call->dim, heads = dim[H], queries = dim[S_Q], d = dim[DIM], rows = queries * heads;
    const int64_t splits = splits_of(dim), blocks = (dim[S_K] + BLOCK - 1) / BLOCK;
    const float *q = call->buffer[0], *k = call->buffer[1], *v = call->buffer[2];
    float *out = call->buffer[3], *lse = call->buffer[4];
    struct running *run = call->workspace;
#pragma omp parallel for collapse(2)
    for (int64_t b = 0; b < dim[B]; b++) {
        for (int64_t s = 0; s < splits; s++) {
            const int64_t first = blocks * s / splits * BLOCK, end = blocks * (s + 1) / splits * BLOCK;
            const int64_t keys = b * dim[S_K] * heads * d;
            split(dim, q + b * rows * d, k + keys, v + keys, first, end < dim[S_K] ? end : dim[S_K],
                  run + (b * splits + s) * rows);
        }
    }
#pragma omp parallel for collapse(2)
    for (int64_t b = 0; b < dim[B]; b++)
        for (int64_t row = 0; row < rows; row++)
            lse[(b * heads + row % heads) * queries + row / heads] =
                combine(run + b * splits * rows + row, splits, rows, d, out + (b * rows + row) * d);
    return 0;
}

const struct ridge_variant ridge_variant_attention_f32_h02_flash_decode = {
    .idea = "online softmax with running maximum, sum and weighted values; keys split over the cores, then combined",
    .source = "Milakov and Gimelshein, arXiv:1805.02867; Dao et al., Flash-Decoding, 2023",
    .changes = "no scores in memory; keys and values are read once, in memory order, with vector dot products",
    .kind = RIDGE_HOST,
    .workspace_bytes = workspace_bytes,
    .launch = launch,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernel.h"

#include <math.h>

enum { B, S_Q, S_K, H, DIM };

static size_t workspace_bytes(const int64_t *dim, const struct ridge_device *device)
{
    (void)device;
    return (size_t)(dim[B] * dim[H] * dim[S_Q] * dim[S_K]) * sizeof(float);
}

/* Scores become probabilities; returns log of the sum of exponentials. */
static float softmax(float *score, int64_t keys)
{
    float max = score[0], sum = 0;
    for (int64_t j = 1; j < keys; j++)
        max = fmaxf(max, score[j]);
    for (int64_t j = 0; j < keys; j++) {
        score[j] = expf(score[j] - max);
        sum += score[j];
    }
    for (int64_t j = 0; j < keys; j++)
        score[j] /= sum;
    return max + logf(sum);
}

/* One query of one head. Keys and values of a head are `stride` elements apart. */
static float row(const int64_t *dim, const float *q, const float *k, const float *v, float *score, float *out)
{
    const int64_t d = dim[DIM], stride = dim[H] * d;
    const float scale = 1 / sqrtf((float)d);
    for (int64_t j = 0; j < dim[S_K]; j++) {
        float sum = 0;
        for (int64_t i = 0; i < d; i++)
            sum += q[i] * k[j * stride + i];
        score[j] = sum * scale;
    }
    const float lse = softmax(score, dim[S_K]);
    for (int64_t i = 0; i < d; i++) {
        float sum = 0;
        for (int64_t j = 0; j < dim[S_K]; j++)
            sum += score[j] * v[j * stride + i];
        out[i] = sum;
    }
    return lse;
}

static int launch(const struct ridge_call *call)
{
    const int64_t *dim = call->dim, heads = dim[H], queries = dim[S_Q], d = dim[DIM];
    const float *q = call->buffer[0], *k = call->buffer[1], *v = call->buffer[2];
    float *out = call->buffer[3], *lse = call->buffer[4], *scores = call->workspace;
#pragma omp parallel for collapse(3)
    for (int64_t b = 0; b < dim[B]; b++) {
        for (int64_t h = 0; h < heads; h++) {
            for (int64_t i = 0; i < queries; i++) {
                const int64_t at = (b * heads + h) * queries + i, x = ((b * queries + i) * heads + h) * d;
                const int64_t keys = (b * dim[S_K] * heads + h) * d;
                lse[at] = row(dim, q + x, k + keys, v + keys, scores + at * dim[S_K], out + x);
            }
        }
    }
    return 0;
}

const struct ridge_variant ridge_variant_attention_f32_h01_naive = {
    .idea = "all scores written to memory, softmax over them, then a second product; queries and heads over the cores",
    .source = "Vaswani et al., NeurIPS 2017, equation 1",
    .changes = "",
    .kind = RIDGE_HOST,
    .workspace_bytes = workspace_bytes,
    .launch = launch,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/attention_bf16/attention_bf16.h"

#include "kernels/kernel.h"
#include "kernels/support/numeric.h"

#include <math.h>

static size_t workspace_bytes(const int64_t *dim, const struct ridge_device *device)
{
    (void)device;
    return (size_t)(dim[ATTENTION_B] * dim[ATTENTION_H] * dim[ATTENTION_S_Q] * dim[ATTENTION_S_K]) * sizeof(float);
}

/* One query of one head. Keys and values of a head are `stride` elements apart. */
static float row(int64_t keys, int64_t stride, const uint16_t *q, const uint16_t *k, const uint16_t *v, float *score,
                 uint16_t *out)
{
    float max = -INFINITY, sum = 0, value[ATTENTION_DIM] = {0};
    for (int64_t j = 0; j < keys; j++) {
        float dot = 0;
        for (int i = 0; i < ATTENTION_DIM; i++)
            dot += bf16_to_f32(q[i]) * bf16_to_f32(k[j * stride + i]);
        score[j] = dot * (float)ATTENTION_SCALE;
        max = fmaxf(max, score[j]);
    }
    for (int64_t j = 0; j < keys; j++) {
        score[j] = expf(score[j] - max);
        sum += score[j];
    }
    for (int64_t j = 0; j < keys; j++)
        for (int i = 0; i < ATTENTION_DIM; i++)
            value[i] += score[j] * bf16_to_f32(v[j * stride + i]);
    for (int i = 0; i < ATTENTION_DIM; i++)
        out[i] = bf16_from_f32(value[i] / sum);
    return max + logf(sum);
}

static int launch(const struct ridge_call *call)
{
    const int64_t *dim = call->dim, heads = dim[ATTENTION_H], queries = dim[ATTENTION_S_Q], keys = dim[ATTENTION_S_K];
    const uint16_t *q = call->buffer[ATTENTION_Q], *k = call->buffer[ATTENTION_K], *v = call->buffer[ATTENTION_V];
    uint16_t *out = call->buffer[ATTENTION_OUT];
    float *lse = call->buffer[ATTENTION_LSE], *scores = call->workspace;
#pragma omp parallel for collapse(3)
    for (int64_t b = 0; b < dim[ATTENTION_B]; b++) {
        for (int64_t h = 0; h < heads; h++) {
            for (int64_t i = 0; i < queries; i++) {
                const int64_t at = (b * heads + h) * queries + i, x = ((b * queries + i) * heads + h) * ATTENTION_DIM;
                const int64_t head = (b * keys * heads + h) * ATTENTION_DIM;
                lse[at] = row(keys, heads * ATTENTION_DIM, q + x, k + head, v + head, scores + at * keys, out + x);
            }
        }
    }
    return 0;
}

const struct ridge_variant ridge_variant_attention_bf16_h01_naive = {
    .idea = "all scores written to memory, softmax over them, then a second product; queries and heads over the cores",
    .source = "Vaswani et al., NeurIPS 2017, equation 1",
    .changes = "",
    .kind = RIDGE_HOST,
    .workspace_bytes = workspace_bytes,
    .launch = launch,
};

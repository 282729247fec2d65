/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_prefill_sparse/mla_prefill_sparse.h"

#include <math.h>

static size_t workspace_bytes(const int64_t *dim, const struct ridge_device *device)
{
    (void)device;
    return (size_t)(dim[PREFILL_S_Q] * dim[PREFILL_H] * dim[PREFILL_TOPK]) * sizeof(float);
}

static void load_row(const uint16_t *src, float *dst, int64_t columns)
{
#pragma omp simd
    for (int64_t i = 0; i < columns; i++)
        dst[i] = bf16_to_f32(src[i]);
}

static float dot(const float *x, const float *y, int64_t columns)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < columns; i++)
        sum += x[i] * y[i];
    return sum;
}

/* Scores of a list, -inf for what is no key; returns the largest. */
static float score_list(const int64_t *dim, const uint16_t *query, const uint16_t *kv, const int32_t *indices,
                        float *score)
{
    float q[PREFILL_D_MAX], key[PREFILL_D_MAX], max = -INFINITY;
    load_row(query, q, dim[PREFILL_D_QK]);
    for (int64_t j = 0; j < dim[PREFILL_TOPK]; j++) {
        const uint16_t *k = prefill_key(dim, kv, indices[j]);
        score[j] = -INFINITY;
        if (!k)
            continue;
        load_row(k, key, dim[PREFILL_D_QK]);
        score[j] = dot(q, key, dim[PREFILL_D_QK]) * PREFILL_SCALE;
        max = fmaxf(max, score[j]);
    }
    return max;
}

/* One head of a query; returns the sum of exponentials. */
static float row(const int64_t *dim, const uint16_t *kv, const int32_t *indices, const float *score, float max,
                 uint16_t *out)
{
    float sum = 0, value[PREFILL_D_V] = {0}, key[PREFILL_D_V];
    for (int64_t j = 0; j < dim[PREFILL_TOPK]; j++) {
        const uint16_t *k = prefill_key(dim, kv, indices[j]);
        if (!k)
            continue;
        const float p = expf(score[j] - max);
        sum += p;
        load_row(k, key, PREFILL_D_V);
        for (int i = 0; i < PREFILL_D_V; i++)
            value[i] += p * key[i];
    }
    for (int i = 0; i < PREFILL_D_V; i++)
        out[i] = bf16_from_f32(sum == 0 ? 0 : value[i] / sum);
    return sum;
}

static int launch(const struct ridge_call *call)
{
    const int64_t *dim = call->dim, rows = dim[PREFILL_S_Q] * dim[PREFILL_H];
    const uint16_t *q = call->buffer[PREFILL_Q], *kv = call->buffer[PREFILL_KV];
    uint16_t *out = call->buffer[PREFILL_OUT];
    float *max_logits = call->buffer[PREFILL_MAX_LOGITS], *lse = call->buffer[PREFILL_LSE], *scores = call->workspace;
#pragma omp parallel for schedule(dynamic)
    for (int64_t r = 0; r < rows; r++) {
        const int32_t *indices =
            (const int32_t *)call->buffer[PREFILL_INDICES] + r / dim[PREFILL_H] * dim[PREFILL_TOPK];
        float *score = scores + r * dim[PREFILL_TOPK];
        max_logits[r] = score_list(dim, q + r * dim[PREFILL_D_QK], kv, indices, score);
        const float sum = row(dim, kv, indices, score, max_logits[r], out + r * PREFILL_D_V);
        lse[r] = sum == 0 ? INFINITY : max_logits[r] + logf(sum);
    }
    return 0;
}

const struct ridge_variant ridge_variant_mla_prefill_sparse_h01_naive = {
    .idea = "all scores of a query's list in memory, softmax over them, then a second product",
    .source = "DeepSeek-V3.2, sparse attention over the indexer's choice, absorbed",
    .changes = "",
    .kind = RIDGE_HOST,
    .workspace_bytes = workspace_bytes,
    .launch = launch,
};

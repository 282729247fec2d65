/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_decode/mla_decode.h"

#include <math.h>

static size_t workspace_bytes(const int64_t *dim, const struct ridge_device *device)
{
    (void)device;
    return (size_t)(dim[MLA_B] * mla_rows(dim) * dim[MLA_S_K]) * sizeof(float);
}

/* Scores become probabilities; returns log of the sum of exponentials, +inf where there are none. */
static float softmax(float *score, int64_t keys)
{
    float max = -INFINITY, sum = 0;
    for (int64_t j = 0; j < keys; j++)
        max = fmaxf(max, score[j]);
    for (int64_t j = 0; j < keys; j++) {
        score[j] = expf(score[j] - max);
        sum += score[j];
    }
    for (int64_t j = 0; j < keys; j++)
        score[j] /= sum;
    return sum == 0 ? INFINITY : max + logf(sum);
}

/* One query row of request b. */
static float row(const struct ridge_call *call, int64_t b, int64_t keys, const uint16_t *query, float *score,
                 uint16_t *out)
{
    const uint16_t *kv = call->buffer[MLA_KV];
    const int32_t *table = call->buffer[MLA_BLOCK_TABLE];
    float q[MLA_D_K], k[MLA_D_K], sum[MLA_D_V] = {0};
    mla_load_row(query, q);
    for (int64_t j = 0; j < keys; j++) {
        mla_load_row(kv + mla_key_offset(call->dim, table, b, j), k);
        score[j] = mla_dot(q, k) * MLA_SCALE;
    }
    const float lse = softmax(score, keys);
    for (int64_t j = 0; j < keys; j++) {
        mla_load_row(kv + mla_key_offset(call->dim, table, b, j), k);
        for (int i = 0; i < MLA_D_V; i++)
            sum[i] += score[j] * k[i];
    }
    for (int i = 0; i < MLA_D_V; i++)
        out[i] = bf16_from_f32(sum[i]);
    return lse;
}

static int launch(const struct ridge_call *call)
{
    const int64_t *dim = call->dim, rows = mla_rows(dim);
    const uint16_t *q = call->buffer[MLA_Q];
    const int32_t *length = call->buffer[MLA_LENGTH];
    uint16_t *out = call->buffer[MLA_OUT];
    float *lse = call->buffer[MLA_LSE], *scores = call->workspace;
    if (mla_check_inputs(call))
        return 1;
#pragma omp parallel for collapse(2) schedule(dynamic)
    for (int64_t b = 0; b < dim[MLA_B]; b++) {
        for (int64_t r = 0; r < rows; r++) {
            const int64_t at = b * rows + r;
            lse[mla_lse_offset(dim, b, r)] = row(call, b, mla_visible(dim, length[b], r / dim[MLA_H]), q + at * MLA_D_K,
                                                 scores + at * dim[MLA_S_K], out + at * MLA_D_V);
        }
    }
    return 0;
}

const struct ridge_variant ridge_variant_mla_decode_h01_naive = {
    .idea = "all scores written to memory, softmax over them, then a second product; every row reads the cache twice",
    .source = "DeepSeek-V2, arXiv:2405.04434, equations 9 to 19, absorbed",
    .changes = "",
    .kind = RIDGE_HOST,
    .workspace_bytes = workspace_bytes,
    .launch = launch,
};

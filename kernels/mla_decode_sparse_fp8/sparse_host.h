/* SPDX-License-Identifier: Apache-2.0 */
/* h01_naive of both families. */
#ifndef RIDGE_SPARSE_HOST_H
#define RIDGE_SPARSE_HOST_H

#include "kernels/mla_decode_sparse_fp8/mla_sparse.h"

#include <math.h>
#include <string.h>

/* A query's tokens, decoded, then a score a token. */
static size_t sparse_host_workspace_bytes(const int64_t *dim, const struct ridge_device *device)
{
    (void)device;
    return (size_t)(sparse_queries(dim) * dim[SPARSE_TOPK]) * (SPARSE_D_K + 1) * sizeof(float);
}

/* Returns how many of the indices are valid. */
static int64_t decode(const struct ridge_call *call, int64_t query, float *value)
{
    const int64_t topk = call->dim[SPARSE_TOPK];
    const int32_t *indices = (const int32_t *)call->buffer[SPARSE_INDICES] + query * topk;
    int64_t count = 0;
    for (int64_t j = 0; j < topk; j++)
        if (sparse_valid(call->dim, indices[j]))
            sparse_decode(call->dim, call->buffer[SPARSE_CACHE], indices[j], value + count++ * SPARSE_D_K);
    return count;
}

static float dot(const float *x, const float *y)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < SPARSE_D_K; i++)
        sum += x[i] * y[i];
    return sum;
}

/* Scores become probabilities; returns log of the sum of exponentials, +inf where there are none. */
static float softmax(float *score, int64_t count)
{
    float max = -INFINITY, sum = 0;
    for (int64_t j = 0; j < count; j++)
        max = fmaxf(max, score[j]);
    for (int64_t j = 0; j < count; j++) {
        score[j] = expf(score[j] - max);
        sum += score[j];
    }
    for (int64_t j = 0; j < count; j++)
        score[j] /= sum;
    return sum == 0 ? INFINITY : max + logf(sum);
}

/* One head of a query. */
static float row(const uint16_t *query, const float *value, int64_t count, float *score, uint16_t *out)
{
    float q[SPARSE_D_K], sum[SPARSE_D_V] = {0};
    for (int i = 0; i < SPARSE_D_K; i++)
        q[i] = bf16_to_f32(query[i]);
    for (int64_t j = 0; j < count; j++)
        score[j] = dot(q, value + j * SPARSE_D_K) * (float)(1 / SPARSE_ROOT);
    const float lse = softmax(score, count);
    for (int64_t j = 0; j < count; j++)
        for (int i = 0; i < SPARSE_D_V; i++)
            sum[i] += score[j] * value[j * SPARSE_D_K + i];
    for (int i = 0; i < SPARSE_D_V; i++)
        out[i] = bf16_from_f32(sum[i]);
    return lse;
}

static int sparse_host_launch(const struct ridge_call *call)
{
    const int64_t *dim = call->dim, topk = dim[SPARSE_TOPK];
    const uint16_t *q = call->buffer[SPARSE_Q];
    uint16_t *out = call->buffer[SPARSE_OUT];
    float *lse = call->buffer[SPARSE_LSE];
    if (sparse_check_buffers(call))
        return 1;
#pragma omp parallel for schedule(dynamic)
    for (int64_t query = 0; query < sparse_queries(dim); query++) {
        float *value = (float *)call->workspace + query * topk * (SPARSE_D_K + 1), *score = value + topk * SPARSE_D_K;
        const int64_t count = decode(call, query, value);
        for (int64_t head = 0; head < dim[SPARSE_H]; head++) {
            const int64_t at = query * dim[SPARSE_H] + head;
            lse[sparse_lse_offset(dim, query, head)] =
                row(q + at * SPARSE_D_K, value, count, score, out + at * SPARSE_D_V);
        }
    }
    return 0;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/attention_f32/attention_f32_shape.cuh"

#include <math.h>

enum { THREADS = 256, WARPS = THREADS / 32 };

/* One score a thread, neighbouring threads on neighbouring keys. blockIdx.x: row * parts + part. */
static __global__ void __launch_bounds__(THREADS)
    attention_f32_scores(const float *__restrict__ q, const float *__restrict__ k, float *__restrict__ scores,
                         attention_shape shape, int parts, float scale)
{
    const int64_t row = blockIdx.x / parts;
    const int key = (int)(blockIdx.x % parts) * THREADS + threadIdx.x;
    if (key >= shape.s_k)
        return;
    const float *query = q + shape.query_of(row);
    const float *k_row = k + shape.keys_of(row / shape.s_q) + (int64_t)key * shape.h * shape.dim;
    float sum = 0;
    for (int i = 0; i < shape.dim; i++)
        sum += query[i] * k_row[i];
    scores[row * shape.s_k + key] = sum * scale;
}

template <bool maximum> static __device__ float reduce(float value)
{
    __shared__ float of_warp[WARPS];
    for (int apart = 16; apart > 0; apart /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, value, apart);
        value = maximum ? fmaxf(value, other) : value + other;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    value = of_warp[0];
    for (int i = 1; i < WARPS; i++)
        value = maximum ? fmaxf(value, of_warp[i]) : value + of_warp[i];
    return value;
}

/* One block a row: scores become probabilities in place. */
static __global__ void __launch_bounds__(THREADS)
    attention_f32_softmax(float *__restrict__ scores, float *__restrict__ lse, int s_k)
{
    float *row = scores + (int64_t)blockIdx.x * s_k;
    float max = -INFINITY, sum = 0;
    for (int key = threadIdx.x; key < s_k; key += THREADS)
        max = fmaxf(max, row[key]);
    max = reduce<true>(max);
    for (int key = threadIdx.x; key < s_k; key += THREADS) {
        const float p = expf(row[key] - max);
        row[key] = p;
        sum += p;
    }
    sum = reduce<false>(sum);
    for (int key = threadIdx.x; key < s_k; key += THREADS)
        row[key] /= sum;
    if (threadIdx.x == 0)
        lse[blockIdx.x] = max + logf(sum);
}

/* One output a thread, one block a row. */
static __global__ void __launch_bounds__(THREADS)
    attention_f32_weighted_sum(const float *__restrict__ p, const float *__restrict__ v, float *__restrict__ out,
                               attention_shape shape)
{
    const int64_t row = blockIdx.x;
    const float *p_row = p + row * shape.s_k;
    const float *v_column = v + shape.keys_of(row / shape.s_q) + threadIdx.x;
    float sum = 0;
    for (int key = 0; key < shape.s_k; key++)
        sum += p_row[key] * v_column[(int64_t)key * shape.h * shape.dim];
    out[shape.query_of(row) + threadIdx.x] = sum;
}

static size_t workspace_bytes(const int64_t *dim, const struct ridge_device *device)
{
    (void)device;
    return (size_t)(attention_rows(dim) * dim[2]) * sizeof(float);
}

/* The scores are written once, rewritten twice and read four times. */
static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    const double bytes = (double)workspace_bytes(dim, device);
    work->bytes_hbm_read += 4 * bytes;
    work->bytes_hbm_write += 3 * bytes;
    work->launches = 3;
}

static int launch(const struct ridge_call *call)
{
    const attention_shape shape = attention_shape_of(call->dim);
    const int64_t rows = attention_rows(call->dim), parts = ridge_ceil_div(shape.s_k, THREADS);
    const cudaStream_t stream = ridge_stream(call);
    const float *q = (const float *)call->buffer[0], *k = (const float *)call->buffer[1];
    const float *v = (const float *)call->buffer[2];
    float *scores = (float *)call->workspace;
    if (rows * parts > INT32_MAX) {
        snprintf(call->error, call->error_bytes, "b * s_q * h * ceil(s_k / 256) = %lld exceeds the largest grid, %d",
                 (long long)(rows * parts), INT32_MAX);
        return 1;
    }
    attention_f32_scores<<<(unsigned)(rows * parts), THREADS, 0, stream>>>(q, k, scores, shape, (int)parts,
                                                                           (float)(1 / sqrt((double)shape.dim)));
    if (RIDGE_LAUNCHED(call))
        return 1;
    attention_f32_softmax<<<(unsigned)rows, THREADS, 0, stream>>>(scores, (float *)call->buffer[4], shape.s_k);
    if (RIDGE_LAUNCHED(call))
        return 1;
    attention_f32_weighted_sum<<<(unsigned)rows, shape.dim, 0, stream>>>(scores, v, (float *)call->buffer[3], shape);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_attention_f32_01_naive = {
    .idea = "scores, softmax and weighted sum as three kernels, the score matrix in global memory",
    .source = "Vaswani et al. 2017, equation 1",
    .changes = "",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .issued = issued,
    .workspace_bytes = workspace_bytes,
    .launch = launch,
    .kernel = (const void *)attention_f32_scores,
};

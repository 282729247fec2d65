/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_decode/mla_decode_gpu.cuh"

#include <math.h>

enum { THREADS = 256 };

/* One score a thread. blockIdx: row of all requests, part of the keys. */
static __global__ void __launch_bounds__(THREADS) mla_scores_kernel(mla_problem problem, float *scores)
{
    const int rows = mla_rows_of(problem), request = blockIdx.x / rows, row = blockIdx.x % rows;
    const int key = blockIdx.y * THREADS + threadIdx.x;
    if (key >= mla_visible(problem, mla_length(problem, request), row))
        return;
    const mla_element *q = problem.q + (int64_t)blockIdx.x * mla_d_k, *k = mla_key(problem, request, key);
    float sum = 0;
    for (int i = 0; k && i < mla_d_k; i++)
        sum += mla_to_float(q[i]) * mla_to_float(k[i]);
    scores[(int64_t)blockIdx.x * problem.s_k + key] = sum * mla_scale;
}

template <bool maximum> static __device__ float reduce(float value)
{
    __shared__ float of_thread[THREADS];
    __syncthreads();
    of_thread[threadIdx.x] = value;
    __syncthreads();
    value = of_thread[0];
    for (int i = 1; i < THREADS; i++)
        value = maximum ? fmaxf(value, of_thread[i]) : value + of_thread[i];
    return value;
}

/* One block a row: scores become probabilities in place. */
static __global__ void __launch_bounds__(THREADS) mla_softmax_kernel(mla_problem problem, float *scores)
{
    const int rows = mla_rows_of(problem), request = blockIdx.x / rows, row = blockIdx.x % rows;
    const int keys = mla_visible(problem, mla_length(problem, request), row);
    float *score = scores + (int64_t)blockIdx.x * problem.s_k, max = -INFINITY, sum = 0;
    for (int key = threadIdx.x; key < keys; key += THREADS)
        max = fmaxf(max, score[key]);
    max = reduce<true>(max);
    for (int key = threadIdx.x; key < keys; key += THREADS) {
        score[key] = expf(score[key] - max);
        sum += score[key];
    }
    sum = reduce<false>(sum);
    for (int key = threadIdx.x; key < keys; key += THREADS)
        score[key] /= sum;
    if (threadIdx.x == 0)
        problem.lse[mla_lse_at(problem, request, row)] = keys ? max + logf(sum) : INFINITY;
}

/* Two columns a thread, one block a row. */
static __global__ void __launch_bounds__(THREADS) mla_values_kernel(mla_problem problem, const float *scores)
{
    const int rows = mla_rows_of(problem), request = blockIdx.x / rows, row = blockIdx.x % rows;
    const int keys = mla_visible(problem, mla_length(problem, request), row), column = 2 * threadIdx.x;
    float2 sum = {0, 0};
    for (int key = 0; key < keys; key++) {
        const mla_element *v = mla_key(problem, request, key);
        if (!v)
            continue;
        const float p = scores[(int64_t)blockIdx.x * problem.s_k + key];
        sum.x += p * mla_to_float(v[column]);
        sum.y += p * mla_to_float(v[column + 1]);
    }
    *(uint32_t *)(problem.out + (int64_t)blockIdx.x * mla_d_v + column) = mla_pack(sum.x, sum.y);
}

static size_t workspace_bytes(const int64_t *dim, const struct ridge_device *)
{
    return (size_t)(dim[0] * dim[1] * dim[3] * dim[2]) * sizeof(float);
}

static const char *unsupported(const int64_t *dim, const struct ridge_device *)
{
    return (double)dim[0] * (double)dim[1] * (double)dim[2] * (double)dim[3] > 1e8
               ? "more than 1e8 scores take this step seconds; measure it on a smaller shape"
           : dim[2] > 65535 * THREADS ? "s_k of more than 65535 blocks of 256 keys"
                                      : NULL;
}

/* Scores are written once, rewritten twice and read four times; a row reads every key for its scores, and again. */
static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    const double scores = (double)workspace_bytes(dim, device);
    work->flop_fp32 = work->flop_bf16;
    work->flop_bf16 = 0;
    work->bytes_hbm_read += 4 * scores;
    work->bytes_hbm_write += 3 * scores;
    work->launches = 3;
}

static int launch(const struct ridge_call *call)
{
    const mla_problem problem = mla_problem_of(call);
    float *scores = (float *)call->workspace;
    const unsigned rows = (unsigned)(problem.b * mla_rows_of(problem));
    mla_scores_kernel<<<dim3(rows, (unsigned)ridge_ceil_div(problem.s_k, THREADS)), THREADS, 0, ridge_stream(call)>>>(
        problem, scores);
    if (RIDGE_LAUNCHED(call))
        return 1;
    mla_softmax_kernel<<<rows, THREADS, 0, ridge_stream(call)>>>(problem, scores);
    if (RIDGE_LAUNCHED(call))
        return 1;
    mla_values_kernel<<<rows, THREADS, 0, ridge_stream(call)>>>(problem, scores);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_mla_decode_01_naive = {
    .idea = "scores, softmax and weighted sum as three kernels, the scores in global memory",
    .source = "DeepSeek-V2, arXiv 2405.04434, 2.1 with the absorbed matrices",
    .changes = "",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .unsupported = unsupported,
    .issued = issued,
    .workspace_bytes = workspace_bytes,
    .launch = launch,
    .kernel = (const void *)mla_scores_kernel,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_decode_sparse_fp8/sparse_gpu.cuh"

#include <math.h>

enum { THREADS = 256 };

/* One score a thread. blockIdx: row (a head of a query), part of its indices. */
static __global__ void __launch_bounds__(THREADS) sparse_scores(sparse_problem problem, float *scores)
{
    const int j = blockIdx.y * THREADS + threadIdx.x, query = blockIdx.x / problem.h;
    if (j >= problem.topk)
        return;
    const uint8_t *token = sparse_token(problem, problem.indices[(int64_t)query * problem.topk + j]);
    const __nv_bfloat16 *q = problem.q + (int64_t)blockIdx.x * sparse_d_k;
    float sum = 0;
    for (int i = 0; token && i < sparse_d_k; i++)
        sum += __bfloat162float(q[i]) * sparse_value(token, i);
    scores[(int64_t)blockIdx.x * problem.topk + j] = token ? sum * sparse_scale : -INFINITY;
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
static __global__ void __launch_bounds__(THREADS) sparse_softmax(sparse_problem problem, float *scores)
{
    float *score = scores + (int64_t)blockIdx.x * problem.topk, max = -INFINITY, sum = 0;
    for (int j = threadIdx.x; j < problem.topk; j += THREADS)
        max = fmaxf(max, score[j]);
    max = reduce<true>(max);
    for (int j = threadIdx.x; j < problem.topk; j += THREADS) {
        score[j] = max == -INFINITY ? 0 : expf(score[j] - max);
        sum += score[j];
    }
    sum = reduce<false>(sum);
    for (int j = threadIdx.x; j < problem.topk; j += THREADS)
        score[j] = max == -INFINITY ? 0 : score[j] / sum;
    if (threadIdx.x == 0)
        problem.lse[sparse_lse_at(problem, blockIdx.x / problem.h, blockIdx.x % problem.h)] =
            max == -INFINITY ? INFINITY : max + logf(sum);
}

/* Two columns a thread, one block a row. */
static __global__ void __launch_bounds__(THREADS) sparse_values(sparse_problem problem, const float *scores)
{
    const int query = blockIdx.x / problem.h, column = 2 * threadIdx.x;
    float2 sum = {0, 0};
    for (int j = 0; j < problem.topk; j++) {
        const uint8_t *token = sparse_token(problem, problem.indices[(int64_t)query * problem.topk + j]);
        if (!token)
            continue;
        const float p = scores[(int64_t)blockIdx.x * problem.topk + j];
        sum.x += p * sparse_value(token, column);
        sum.y += p * sparse_value(token, column + 1);
    }
    *(__nv_bfloat162 *)(problem.out + (int64_t)blockIdx.x * sparse_d_v + column) = __floats2bfloat162_rn(sum.x, sum.y);
}

static size_t workspace_bytes(const int64_t *dim, const struct ridge_device *)
{
    return (size_t)(sparse_queries(dim) * dim[SPARSE_H] * dim[SPARSE_TOPK]) * sizeof(float);
}

static const char *unsupported(const int64_t *dim, const struct ridge_device *)
{
    return (double)sparse_queries(dim) * (double)dim[SPARSE_H] * (double)dim[SPARSE_TOPK] > 2e7
               ? "more than 2e7 scores take this step seconds; measure it on a smaller shape"
               : NULL;
}

/* Scores are written once, rewritten twice and read four times. */
static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    const double scores = (double)workspace_bytes(dim, device);
    work->flop_fp32 = work->flop_bf16;
    work->flop_bf16 = work->cvt_e4m3_f16 = 0;
    work->bytes_hbm_read += 4 * scores;
    work->bytes_hbm_write += 3 * scores;
    work->launches = 3;
}

static int launch(const struct ridge_call *call)
{
    const sparse_problem problem = sparse_problem_of(call);
    float *scores = (float *)call->workspace;
    const unsigned rows = (unsigned)(problem.queries * problem.h);
    if (sparse_check_buffers(call))
        return 1;
    sparse_scores<<<dim3(rows, (unsigned)ridge_ceil_div(problem.topk, THREADS)), THREADS, 0, ridge_stream(call)>>>(
        problem, scores);
    if (RIDGE_LAUNCHED(call))
        return 1;
    sparse_softmax<<<rows, THREADS, 0, ridge_stream(call)>>>(problem, scores);
    if (RIDGE_LAUNCHED(call))
        return 1;
    sparse_values<<<rows, THREADS, 0, ridge_stream(call)>>>(problem, scores);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_mla_decode_sparse_fp8_01_naive = {
    .idea = "scores, softmax and weighted sum as three kernels, a token decoded wherever it is used",
    .source = "",
    .changes = "",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .unsupported = unsupported,
    .issued = issued,
    .workspace_bytes = workspace_bytes,
    .launch = launch,
    .kernel = (const void *)sparse_scores,
};

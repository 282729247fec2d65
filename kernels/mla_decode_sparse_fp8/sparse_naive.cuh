/* SPDX-License-Identifier: Apache-2.0 */
/* Scores in memory, on the CUDA cores: 01_naive of both families. */
#ifndef RIDGE_SPARSE_NAIVE_CUH
#define RIDGE_SPARSE_NAIVE_CUH

#include "kernels/mla_decode_sparse_fp8/sparse_gpu.cuh"

#include <math.h>

constexpr int sparse_naive_threads = 256;

/* One score a thread. blockIdx: row (a head of a query), part of its indices. */
static __global__ void __launch_bounds__(sparse_naive_threads) sparse_scores(sparse_problem problem, float *scores)
{
    const int j = blockIdx.y * sparse_naive_threads + threadIdx.x, query = blockIdx.x / problem.h;
    if (j >= problem.topk)
        return;
    const sparse_place token = sparse_place_of(problem, problem.indices[(int64_t)query * problem.topk + j]);
    const bf16 *q = problem.q + (int64_t)blockIdx.x * sparse_d_k;
    float sum = 0;
    for (int i = 0; token.block && i < sparse_d_k; i++)
        sum += float(q[i]) * sparse_value(problem, token, i);
    scores[(int64_t)blockIdx.x * problem.topk + j] = token.block ? sum * sparse_scale : -INFINITY;
}

template <bool maximum> static __device__ float reduce(float value)
{
    __shared__ float of_thread[sparse_naive_threads];
    __syncthreads();
    of_thread[threadIdx.x] = value;
    __syncthreads();
    value = of_thread[0];
    for (int i = 1; i < sparse_naive_threads; i++)
        value = maximum ? fmaxf(value, of_thread[i]) : value + of_thread[i];
    return value;
}

/* One block a row: scores become probabilities in place. */
static __global__ void __launch_bounds__(sparse_naive_threads) sparse_softmax(sparse_problem problem, float *scores)
{
    float *score = scores + (int64_t)blockIdx.x * problem.topk, max = -INFINITY, sum = 0;
    for (int j = threadIdx.x; j < problem.topk; j += sparse_naive_threads)
        max = fmaxf(max, score[j]);
    max = reduce<true>(max);
    for (int j = threadIdx.x; j < problem.topk; j += sparse_naive_threads) {
        score[j] = max == -INFINITY ? 0 : expf(score[j] - max);
        sum += score[j];
    }
    sum = reduce<false>(sum);
    for (int j = threadIdx.x; j < problem.topk; j += sparse_naive_threads)
        score[j] = max == -INFINITY ? 0 : score[j] / sum;
    if (threadIdx.x == 0)
        problem.lse[sparse_lse_at(problem, blockIdx.x / problem.h, blockIdx.x % problem.h)] =
            max == -INFINITY ? INFINITY : max + logf(sum);
}

/* Two columns a thread, one block a row. */
static __global__ void __launch_bounds__(sparse_naive_threads)
    sparse_values(sparse_problem problem, const float *scores)
{
    const int query = blockIdx.x / problem.h, column = 2 * threadIdx.x;
    float2 sum = {0, 0};
    for (int j = 0; j < problem.topk; j++) {
        const sparse_place token = sparse_place_of(problem, problem.indices[(int64_t)query * problem.topk + j]);
        if (!token.block)
            continue;
        const float p = scores[(int64_t)blockIdx.x * problem.topk + j];
        sum.x += p * sparse_value(problem, token, column);
        sum.y += p * sparse_value(problem, token, column + 1);
    }
    *(uint32_t *)(problem.out + (int64_t)blockIdx.x * sparse_d_v + column) = cvt_bf16x2_f32(sum.x, sum.y);
}

static size_t sparse_naive_workspace_bytes(const int64_t *dim, const struct ridge_device *)
{
    return (size_t)(sparse_queries(dim) * dim[SPARSE_H] * dim[SPARSE_TOPK]) * sizeof(float);
}

static const char *sparse_naive_unsupported(const int64_t *dim, const struct ridge_device *)
{
    return (double)sparse_queries(dim) * (double)dim[SPARSE_H] * (double)dim[SPARSE_TOPK] > 2e7
               ? "more than 2e7 scores take this step seconds; measure it on a smaller shape"
               : NULL;
}

/* Scores are written once, rewritten twice and read four times. */
static void sparse_naive_issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    const double scores = (double)sparse_naive_workspace_bytes(dim, device);
    work->flop_fp32 = work->flop_bf16;
    work->flop_bf16 = work->cvt_e4m3_f16 = 0;
    work->bytes_hbm_read += 4 * scores;
    work->bytes_hbm_write += 3 * scores;
    work->launches = 3;
}

static int sparse_naive_launch(const struct ridge_call *call)
{
    const sparse_problem problem = sparse_problem_of(call);
    float *scores = (float *)call->workspace;
    const unsigned rows = (unsigned)(problem.queries * problem.h);
    if (sparse_check_buffers(call))
        return 1;
    sparse_scores<<<dim3(rows, (unsigned)ridge_ceil_div(problem.topk, sparse_naive_threads)), sparse_naive_threads, 0,
                    ridge_stream(call)>>>(problem, scores);
    if (RIDGE_LAUNCHED(call))
        return 1;
    sparse_softmax<<<rows, sparse_naive_threads, 0, ridge_stream(call)>>>(problem, scores);
    if (RIDGE_LAUNCHED(call))
        return 1;
    sparse_values<<<rows, sparse_naive_threads, 0, ridge_stream(call)>>>(problem, scores);
    return RIDGE_LAUNCHED(call);
}

#endif

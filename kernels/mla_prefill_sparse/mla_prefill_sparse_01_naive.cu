/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_prefill_sparse/mla_prefill_sparse_gpu.cuh"

enum { THREADS = 256, LARGEST_TOPK = 8192 };

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

/* A block a head of a query: a thread a score, then two columns a thread. */
static __global__ void __launch_bounds__(THREADS) prefill_naive_kernel(prefill_problem problem)
{
    __shared__ float q[prefill_d_max], score[LARGEST_TOPK];
    const int64_t row = blockIdx.x;
    const int32_t *indices = problem.indices + row / problem.h * problem.topk;
    float max = -INFINITY, sum = 0;
    float2 value = {0, 0};
    for (int i = threadIdx.x; i < problem.d_qk; i += THREADS)
        q[i] = float(problem.q[row * problem.d_qk + i]);
    __syncthreads();
    for (int j = threadIdx.x; j < problem.topk; j += THREADS) {
        const bf16 *key = prefill_key(problem, indices[j]);
        float dot = 0;
        for (int i = 0; key && i < problem.d_qk; i++)
            dot += q[i] * float(key[i]);
        score[j] = key ? dot * prefill_scale : -INFINITY;
        max = fmaxf(max, score[j]);
    }
    max = reduce<true>(max);
    for (int j = threadIdx.x; j < problem.topk; j += THREADS) {
        score[j] = max == -INFINITY ? 0 : expf(score[j] - max);
        sum += score[j];
    }
    sum = reduce<false>(sum);
    for (int j = 0; j < problem.topk; j++) {
        const bf16 *key = prefill_key(problem, indices[j]);
        if (!key)
            continue;
        value.x += score[j] * float(key[2 * threadIdx.x]);
        value.y += score[j] * float(key[2 * threadIdx.x + 1]);
    }
    const float factor = sum > 0 ? 1 / sum : 0;
    ((uint32_t *)(problem.out + row * prefill_d_v))[threadIdx.x] = cvt_bf16x2_f32(value.x * factor, value.y * factor);
    if (threadIdx.x == 0) {
        problem.max_logits[row] = max;
        problem.lse[row] = sum > 0 ? max + logf(sum) : INFINITY;
    }
}

static const char *unsupported(const int64_t *dim, const struct ridge_device *)
{
    return (double)dim[0] * (double)dim[2] * (double)dim[3] > 1e8
               ? "more than 1e8 scores take this step seconds; measure it on a smaller shape"
           : dim[3] > LARGEST_TOPK ? "topk above 8192: the scores of a list are kept in shared memory"
                                   : NULL;
}

/* Every head reads its keys, and their values again. */
static void issued(const int64_t *dim, const struct ridge_device *, struct ridge_work *work)
{
    work->flop_fp32 = work->flop_bf16;
    work->flop_bf16 = 0;
    work->bytes_l2 = 2 * work->exp * (double)(dim[4] + prefill_d_v);
    work->launches = 1;
}

static int launch(const struct ridge_call *call)
{
    const prefill_problem problem = prefill_problem_of(call);
    const int64_t rows = (int64_t)problem.s_q * problem.h;
    prefill_naive_kernel<<<(unsigned)rows, THREADS, 0, ridge_stream(call)>>>(problem);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_mla_prefill_sparse_01_naive = {
    .idea = "a block a head of a query: scores in shared memory, softmax, weighted sum",
    .source = "",
    .changes = "",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .unsupported = unsupported,
    .issued = issued,
    .launch = launch,
    .kernel = (const void *)prefill_naive_kernel,
};

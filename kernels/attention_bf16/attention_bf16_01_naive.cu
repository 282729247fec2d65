/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/attention_bf16/attention_bf16_gpu.cuh"
#include "kernels/ptx/arithmetic.cuh"
#include "kernels/support/bf16.cuh"

enum { WARPS = 8 };

static __device__ float4 load_row(const bf16 *row, int lane)
{
    const uint2 words = *(const uint2 *)(row + 4 * lane);
    const float2 low = bf16x2_unpack(words.x), high = bf16x2_unpack(words.y);
    return make_float4(low.x, low.y, high.x, high.y);
}

static __device__ float dot(float4 x, float4 y)
{
    float sum = x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
    for (int apart = 16; apart > 0; apart /= 2)
        sum += __shfl_xor_sync(~0u, sum, apart);
    return sum;
}

/* A warp has a query of a head, a lane four of its columns. blockIdx: queries, request and head. */
static __global__ void __launch_bounds__(32 * WARPS) attention_naive_kernel(attention_problem problem)
{
    const int query = blockIdx.x * WARPS + threadIdx.x / 32, lane = threadIdx.x % 32;
    const int request = blockIdx.y / problem.h, head = blockIdx.y % problem.h;
    if (query >= problem.s_q)
        return;
    const int64_t at = attention_at(problem, problem.s_q, request, head, query);
    const float4 q = load_row(problem.q + at, lane);
    float4 sum = make_float4(0, 0, 0, 0);
    float max = -INFINITY, total = 0;
    for (int key = 0; key < problem.s_k; key++) {
        const int64_t row = attention_at(problem, problem.s_k, request, head, key);
        const float score = dot(q, load_row(problem.k + row, lane)) * attention_scale_log2;
        const float4 v = load_row(problem.v + row, lane);
        const float now = fmaxf(max, score), factor = ex2(max - now), p = ex2(score - now);
        sum = make_float4(sum.x * factor + p * v.x, sum.y * factor + p * v.y, sum.z * factor + p * v.z,
                          sum.w * factor + p * v.w);
        total = total * factor + p;
        max = now;
    }
    *(uint2 *)(problem.out + at + 4 * lane) = make_uint2(bf16x2_pack(make_float2(sum.x / total, sum.y / total)),
                                                         bf16x2_pack(make_float2(sum.z / total, sum.w / total)));
    if (lane == 0)
        problem.lse[attention_lse_at(problem, request, head, query)] = (max + log2f(total)) * attention_ln2;
}

static const char *unsupported(const int64_t *dim, const struct ridge_device *)
{
    if (dim[ATTENTION_B] * dim[ATTENTION_H] > 65535)
        return "b * h is above 65535 blocks of the grid's second axis";
    return (double)dim[ATTENTION_B] * (double)dim[ATTENTION_H] * (double)dim[ATTENTION_S_Q] *
                       (double)dim[ATTENTION_S_K] >
                   2e8
               ? "more than 2e8 scores take this step a quarter of a second and up; measure it on a smaller shape"
               : NULL;
}

/* Not on the tensor cores; every lane makes a key's two exponentials. */
static void issued(const int64_t *, const struct ridge_device *, struct ridge_work *work)
{
    work->flop_fp32 = work->flop_bf16;
    work->flop_bf16 = 0;
    work->exp *= 2 * 32;
}

static int launch(const struct ridge_call *call)
{
    const attention_problem problem = attention_problem_of(call);
    const dim3 grid((unsigned)ridge_ceil_div(problem.s_q, WARPS), (unsigned)(problem.b * problem.h));
    attention_naive_kernel<<<grid, 32 * WARPS, 0, ridge_stream(call)>>>(problem);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_attention_bf16_01_naive = {
    .idea = "a warp a query, a key at a time: dot product by shuffles, online softmax, four output columns a lane",
    .source = "Milakov and Gimelshein, arXiv:1805.02867, algorithm 3",
    .changes = "",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .unsupported = unsupported,
    .issued = issued,
    .launch = launch,
    .kernel = (const void *)attention_naive_kernel,
};

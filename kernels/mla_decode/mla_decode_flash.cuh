/* SPDX-License-Identifier: Apache-2.0 */
/* Flash decode on the CUDA cores: a warp has a row, its lanes share the columns, and one pass over the keys with online
 * softmax makes the result. The warps of a block have rows of one request, so that they find keys in L1. */
#ifndef RIDGE_MLA_DECODE_FLASH_CUH
#define RIDGE_MLA_DECODE_FLASH_CUH

#include "kernels/mla_decode/mla_decode_split.cuh"
#include "kernels/ptx/global.cuh"

constexpr int mla_flash_rows = 8, mla_flash_threads = 32 * mla_flash_rows;

/* Columns of a lane: eight from lane * 8 and from 256 + lane * 8, and two of the last 64. */
struct mla_flash_row {
    float2 element[9];
};

static __device__ __forceinline__ mla_flash_row mla_flash_load(const mla_element *row)
{
    const int lane = threadIdx.x % 32;
    mla_flash_row loaded = {};
    if (!row)
        return loaded;
    const uint4 words[2] = {ld_global_v4(row + lane * 8), ld_global_v4(row + 256 + lane * 8)};
#pragma unroll
    for (int i = 0; i < 2; i++) {
        loaded.element[4 * i] = mla_unpack(words[i].x);
        loaded.element[4 * i + 1] = mla_unpack(words[i].y);
        loaded.element[4 * i + 2] = mla_unpack(words[i].z);
        loaded.element[4 * i + 3] = mla_unpack(words[i].w);
    }
    loaded.element[8] = mla_unpack(*(const uint32_t *)(row + 512 + lane * 2));
    return loaded;
}

struct mla_flash_state {
    float max = -INFINITY, sum = 0;
    float2 value[8] = {};
};

/* What probabilities are kept as. */
struct mla_p_f32 {
    static __device__ __forceinline__ float rounded(float p)
    {
        return p;
    }
};

template <typename kept>
static __device__ __forceinline__ void mla_flash_take(mla_flash_state &state, const mla_flash_row &q,
                                                      const mla_flash_row &k)
{
    float score = 0;
#pragma unroll
    for (int i = 0; i < 9; i++)
        score = fmaf(q.element[i].x, k.element[i].x, fmaf(q.element[i].y, k.element[i].y, score));
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2)
        score += __shfl_xor_sync(~0u, score, apart);
    const float max = fmaxf(state.max, score), factor = exp2f((state.max - max) * mla_scale_log2);
    const float p = exp2f((score - max) * mla_scale_log2);
    state.max = max;
    const float product = kept::rounded(p);
    state.sum = state.sum * factor + p;
#pragma unroll
    for (int i = 0; i < 8; i++)
        state.value[i] = make_float2(state.value[i].x * factor + product * k.element[i].x,
                                     state.value[i].y * factor + product * k.element[i].y);
}

/* Keys first .. last - 1 of a request, for one row. */
template <typename kept = mla_p_f32>
static __device__ __forceinline__ void mla_flash_keys(mla_flash_state &state, const mla_problem &problem, int request,
                                                      int row, int first, int last)
{
    const mla_flash_row q = mla_flash_load(problem.q + ((int64_t)request * mla_rows_of(problem) + row) * mla_d_k);
#pragma unroll 2
    for (int key = first; key < last; key++)
        mla_flash_take<kept>(state, q, mla_flash_load(mla_key(problem, request, key)));
}

static __device__ __forceinline__ void mla_flash_store(const mla_problem &problem, const mla_flash_state &state,
                                                       int request, int row)
{
    const int lane = threadIdx.x % 32;
    const float factor = state.sum == 0 ? 0 : 1 / state.sum;
#pragma unroll
    for (int i = 0; i < 4; i++)
        mla_store_four(problem, request, row, i / 2 * 256 + lane * 8 + i % 2 * 4,
                       make_float4(state.value[2 * i].x * factor, state.value[2 * i].y * factor,
                                   state.value[2 * i + 1].x * factor, state.value[2 * i + 1].y * factor));
    if (lane == 0)
        problem.lse[mla_lse_at(problem, request, row)] =
            state.sum == 0 ? INFINITY : (state.max * mla_scale_log2 + log2f(state.sum)) * mla_ln2;
}

static __device__ __forceinline__ void mla_flash_store_part(const mla_problem &problem, const mla_split &split,
                                                            const mla_flash_state &state, int slot, int row)
{
    const int lane = threadIdx.x % 32;
    const int64_t at = (int64_t)slot * mla_rows_of(problem) + row;
    const float factor = state.sum == 0 ? 0 : 1 / state.sum;
#pragma unroll
    for (int i = 0; i < 4; i++)
        *(float4 *)(split.part_out + at * mla_d_v + i / 2 * 256 + lane * 8 + i % 2 * 4) =
            make_float4(state.value[2 * i].x * factor, state.value[2 * i].y * factor, state.value[2 * i + 1].x * factor,
                        state.value[2 * i + 1].y * factor);
    if (lane == 0)
        split.part_lse[at] = state.sum == 0 ? -INFINITY : state.max * mla_scale_log2 + log2f(state.sum);
}

/* blockIdx: group of rows, request. */
template <typename kept>
static __global__ void __launch_bounds__(mla_flash_threads) mla_flash_kernel(mla_problem problem)
{
    const int request = blockIdx.x, row = blockIdx.y * mla_flash_rows + threadIdx.x / 32;
    if (row >= mla_rows_of(problem))
        return;
    mla_flash_state state;
    mla_flash_keys<kept>(state, problem, request, row, 0, mla_visible(problem, mla_length(problem, request), row));
    mla_flash_store(problem, state, request, row);
}

template <typename kept> static int mla_flash_launch(const struct ridge_call *call)
{
    const mla_problem problem = mla_problem_of(call);
    const dim3 grid((unsigned)problem.b, (unsigned)ridge_ceil_div(mla_rows_of(problem), mla_flash_rows));
    mla_flash_kernel<kept><<<grid, mla_flash_threads, 0, ridge_stream(call)>>>(problem);
    return RIDGE_LAUNCHED(call);
}

static inline const char *mla_flash_unsupported(const int64_t *dim, const struct ridge_device *)
{
    return (double)dim[0] * (double)dim[1] * (double)dim[2] * (double)dim[3] > 3e8
               ? "more than 3e8 scores take this step a quarter of a second and up; measure it on a smaller shape"
               : NULL;
}

/* The products run on the CUDA cores. */
static inline void mla_flash_issued(const int64_t *, const struct ridge_device *, struct ridge_work *work)
{
    work->flop_fp32 = work->flop_bf16;
    work->flop_bf16 = 0;
}

#endif

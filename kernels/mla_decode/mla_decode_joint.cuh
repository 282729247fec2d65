/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A piece's end for tiles of 16 rows: the last block's values are multiplied by both warpgroups, half of the columns
 * each, while sums of the blocks before change hands; results are stored from the accumulators. Of a request that is
 * cut a part leaves sums, not averages, as accumulators lie, with each row's maximum and sum.
 */
#ifndef RIDGE_MLA_DECODE_JOINT_CUH
#define RIDGE_MLA_DECODE_JOINT_CUH

#include "kernels/mla_decode/mla_decode_meet_once.cuh"
#include "kernels/mla_decode/mla_decode_shorter.cuh"

/* Sums that a warpgroup leaves the other: 16 bytes a thread of each of its half's registers in fours, a warp's in a
 * row, where the reading warp's results lie next, rows joint_pitch apart. */
constexpr int joint_half = mla_d_v / 128, joint_warp_bytes = joint_half * ends_rows * 64, joint_pitch = 128 + 16;
constexpr int joint_left = mla_transposed<ends_rows>::bytes, joint_kept = joint_left + 8 * joint_warp_bytes;
constexpr int joint_bytes = joint_kept + mla_meetings_bytes;
static_assert(joint_bytes <= 232448 && joint_left % 16 == 0, "more than the shared memory of a block");
static_assert(ends_rows * joint_pitch <= joint_warp_bytes, "results of a warp lie where it read sums");

/* Of a tile's partial result: 16 bytes, columns c and c + 8 of row h, then of row h + 1. */
constexpr int joint_elements = ends_rows * mla_d_v / 4;

struct joint_rows {
    int rows; /* of the tile */

    __device__ int elements() const
    {
        return joint_elements;
    }
};

static __device__ __forceinline__ float4 *joint_part(const mla_tile_arguments &arguments, int slot)
{
    return (float4 *)arguments.split.part_out + ((int64_t)slot * gridDim.x + blockIdx.x) * joint_elements;
}

/* A maximum, as exponents of 2 have it, and a sum for each row, behind all partial results. */
static __device__ __forceinline__ float2 *joint_part_sums(const mla_tile_arguments &arguments, int slot)
{
    return (float2 *)((float4 *)arguments.split.part_out +
                      (int64_t)2 * arguments.split.parts * gridDim.x * joint_elements) +
           ((int64_t)slot * gridDim.x + blockIdx.x) * ends_rows;
}

/* Where the warpgroup's maxima and what warps have of its rows' sums lie. */
static __device__ __forceinline__ uint32_t joint_maximum(uint32_t base, int own, int i)
{
    return base + mla_transposed<ends_rows>::totals + (mla_head(own) * 4 + i) * 4;
}

/* Maxima: of who has not the last block; of the other without it, and with it. */
enum { joint_early, joint_before, joint_last };

static __device__ __forceinline__ void joint_leave_maximum(const ends_state &state, uint32_t base, int i)
{
    if (threadIdx.x % 128 < 4)
#pragma unroll
        for (int j = 0; j < shorter_own; j++)
            st_shared_f32(joint_maximum(base, j, i), state.max[j]);
}

static __device__ __forceinline__ void joint_leave_sums(ends_state &state, uint32_t base)
{
    shorter_reduce_lanes<false>(state.sum);
    if (threadIdx.x % 32 < 4)
#pragma unroll
        for (int j = 0; j < shorter_own; j++)
            st_shared_f32(base + mla_transposed<ends_rows>::warp_sum + (mla_head(j) * 8 + threadIdx.x / 32) * 4,
                          state.sum[j]);
}

/* The half that is the other's. */
static __device__ __forceinline__ void joint_leave(const ends_state &state, uint32_t base, int warpgroup)
{
    const uint32_t to = base + joint_left + threadIdx.x / 32 * joint_warp_bytes + threadIdx.x % 32 * 16;
#pragma unroll
    for (int tile = 0; tile < joint_half; tile++)
#pragma unroll
        for (int i = 0; i < ends_rows / 2; i += 4) {
            const auto of = [&](int k) {
                return __float_as_uint(warpgroup ? state.out[tile][i + k] : state.out[joint_half + tile][i + k]);
            };
            st_shared_v4(to + (tile * 2 + i / 4) * 512, make_uint4(of(0), of(1), of(2), of(3)));
        }
}

/* By the warpgroup that has the last block, whose sums of values stay as they are. */
static __device__ __forceinline__ void joint_last_block(ends_state &state, uint32_t base, int warpgroup,
                                                        uint32_t parity, const mla_problem &problem, int length,
                                                        int key, int seen)
{
    using memory = mla_transposed<ends_rows>;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    float p[ends_rows / 2], factor[shorter_own];
    joint_leave_maximum(state, base, joint_before);
    shorter_probabilities(state, p, factor, base, warpgroup, parity, problem, length, key, seen);
    stmatrix_trans_x4(base + memory::p + warpgroup * memory::p_bytes +
                          swizzle_128(lane / 16 * 8 + lane % 8, warp * 32 + lane / 8 % 2 * 16),
                      mla_pack(p[0], p[1]), mla_pack(p[2], p[3]), mla_pack(p[4], p[5]), mla_pack(p[6], p[7]));
    joint_leave_maximum(state, base, joint_last);
    joint_leave_sums(state, base);
    fence_proxy_async();
}

/* What sums of the last block, of this warpgroup and of the other are worth under the maximum of all; and that and the
 * sum of each row. */
struct joint_weights {
    float fresh[shorter_own], own[shorter_own], other[shorter_own], max[shorter_own], sum[shorter_own];
};

static __device__ __forceinline__ joint_weights joint_weigh(uint32_t base, bool late, int late_group)
{
    joint_weights weights;
    const uint32_t sums = base + mla_transposed<ends_rows>::warp_sum;
#pragma unroll
    for (int j = 0; j < shorter_own; j++) {
        const float4 first = mla_shared_four(sums + mla_head(j) * 32);
        const float4 second = mla_shared_four(sums + mla_head(j) * 32 + 16);
        const float4 of = mla_shared_four(joint_maximum(base, j, 0));
        const float early_max = of.x, max = fmaxf(of.x, of.z);
        const float early = mla_factor(early_max, max), before = mla_factor(of.y, max), last = mla_factor(of.z, max);
        const float sum0 = first.x + first.y + first.z + first.w, sum1 = second.x + second.y + second.z + second.w;
        weights.fresh[j] = last;
        weights.own[j] = late ? before : early;
        weights.other[j] = late ? early : before;
        weights.max[j] = max;
        weights.sum[j] = fmaf(sum0, late_group ? early : last, sum1 * (late_group ? last : early));
    }
    return weights;
}

/* The warp's columns of the half, through its own shared memory: two rows' 32 bytes a tile are whole sectors. */
static __device__ __forceinline__ void joint_store_whole(const mla_problem &problem, int request, int row0,
                                                         uint32_t area, const float (&value)[joint_half][ends_rows / 2],
                                                         int warpgroup)
{
    const int lane = threadIdx.x % 32, all = mla_rows_of(problem);
    const uint32_t to = area + (lane / 16 * 8 + lane % 8) * joint_pitch + lane / 8 % 2 * 16;
    __syncwarp();
#pragma unroll
    for (int tile = 0; tile < joint_half; tile++)
        stmatrix_trans_x4(to + tile * 32, mla_pack(value[tile][0], value[tile][1]),
                          mla_pack(value[tile][2], value[tile][3]), mla_pack(value[tile][4], value[tile][5]),
                          mla_pack(value[tile][6], value[tile][7]));
    __syncwarp();
    const int column = (warpgroup * joint_half + lane % 8 / 2) * 64 + threadIdx.x / 32 % 4 * 16 + lane % 2 * 8;
    mla_element *out = problem.out + ((int64_t)request * all + row0 + lane / 8) * mla_d_v + column;
#pragma unroll
    for (int i = 0; i < 4; i++)
        if (row0 + lane / 8 + i * 4 < all)
            st_global_v4(out + i * 4 * mla_d_v,
                         ld_shared_volatile_v4(area + (lane / 8 + i * 4) * joint_pitch + lane % 8 * 16));
}

static __device__ __forceinline__ void joint_store_part(const mla_tile_arguments &arguments, int slot,
                                                        const float (&value)[joint_half][ends_rows / 2], int warpgroup)
{
    float4 *to = joint_part(arguments, slot) + warpgroup * joint_half * 256 + threadIdx.x % 128;
#pragma unroll
    for (int tile = 0; tile < joint_half; tile++)
#pragma unroll
        for (int i = 0; i < ends_rows / 2; i += 4)
            __stcg(to + tile * 256 + i * 32,
                   make_float4(value[tile][i], value[tile][i + 2], value[tile][i + 1], value[tile][i + 3]));
}

/* By one warp, a row a lane. */
static __device__ __forceinline__ void joint_store_sums(const mla_tile_arguments &arguments, const mla_piece &piece,
                                                        int row0, const joint_weights &weights)
{
    const mla_problem &problem = arguments.problem;
    const int lane = threadIdx.x % 32, row = row0 + lane, rows = mla_rows_of(problem);
    float max = 0, sum = 0;
#pragma unroll
    for (int j = 0; j < shorter_own; j++) {
        const float of_max = __shfl_sync(~0u, weights.max[j], lane % 8 / 2);
        const float of_sum = __shfl_sync(~0u, weights.sum[j], lane % 8 / 2);
        max = j == lane / 8 * 2 + lane % 2 ? of_max * mla_scale_log2 : max;
        sum = j == lane / 8 * 2 + lane % 2 ? of_sum : sum;
    }
    if (lane >= ends_rows)
        return;
    if (!piece.whole)
        __stcg(joint_part_sums(arguments, piece.slot) + lane, make_float2(max, sum));
    else if (row < rows)
        problem.lse[mla_lse_at(problem, piece.request, row)] =
            sum > 0 || sum != sum ? (max + log2f(sum)) * mla_ln2 : INFINITY;
}

/* fresh = V^T P^T of half of the columns; committed, to be waited for. */
static __device__ __forceinline__ void joint_values(float (&fresh)[joint_half][ends_rows / 2], uint32_t values,
                                                    uint32_t p)
{
    const uint64_t b = wgmma_descriptor_128(p);
    wgmma_fence();
#pragma unroll
    for (int tile = 0; tile < joint_half; tile++) {
        const uint64_t a = wgmma_descriptor_128(values + tile * mla_tile_bytes, 1024, mla_tile_bytes);
#pragma unroll
        for (int slice = 0; slice < 4; slice++)
            mla_wgmma_ss<1, 0>(fresh[tile], wgmma_descriptor_advance(a, slice * 2048),
                               wgmma_descriptor_advance(b, slice * 32), slice > 0);
    }
    wgmma_commit();
}

/* A request without keys. */
static __device__ __forceinline__ void joint_store_empty(const mla_problem &problem, int request, int row0)
{
    const int all = mla_rows_of(problem), rows = min(ends_rows, all - row0);
    for (int i = threadIdx.x; i < rows * mla_d_v / 8; i += 256)
        st_global_v4(problem.out + ((int64_t)request * all + row0) * mla_d_v + i * 8, make_uint4(0, 0, 0, 0));
    if ((int)threadIdx.x < rows)
        problem.lse[mla_lse_at(problem, request, row0 + (int)threadIdx.x)] = INFINITY;
}

/* Behind the barrier that says that probabilities are there, and what each warpgroup left. */
static __device__ __forceinline__ void joint_end(const mla_tile_arguments &arguments, const mla_piece &piece, int row0,
                                                 ends_state &state, uint32_t base, int warpgroup, int late_group)
{
    using memory = mla_transposed<ends_rows>;
    const uint32_t left = base + joint_left + (threadIdx.x / 32 ^ 4) * joint_warp_bytes;
    float fresh[joint_half][ends_rows / 2];
    float4 other[joint_half][ends_rows / 8];
    joint_values(fresh, base + late_group * mla_block_bytes + warpgroup * joint_half * mla_tile_bytes,
                 base + memory::p + late_group * memory::p_bytes);
    __syncwarp(); /* what follows is not moved before the products */
    joint_weights weights = joint_weigh(base, warpgroup == late_group, late_group);
#pragma unroll
    for (int tile = 0; tile < joint_half; tile++)
#pragma unroll
        for (int i = 0; i < ends_rows / 8; i++)
            other[tile][i] = mla_shared_four(left + (tile * 2 + i) * 512 + threadIdx.x % 32 * 16);
    if (piece.whole)
#pragma unroll
        for (int j = 0; j < shorter_own; j++) {
            const float inverse = weights.sum[j] == 0 ? 0 : __fdividef(1, weights.sum[j]);
            weights.fresh[j] *= inverse;
            weights.own[j] *= inverse;
            weights.other[j] *= inverse;
        }
    if (threadIdx.x / 32 == 0)
        joint_store_sums(arguments, piece, row0, weights);
#pragma unroll
    for (int tile = 0; tile < joint_half; tile++)
#pragma unroll
        for (int i = 0; i < ends_rows / 2; i++) { /* without the last block */
            const float mine = warpgroup ? state.out[joint_half + tile][i] : state.out[tile][i];
            const float4 four = other[tile][i / 4];
            const float left_one = i % 4 == 0 ? four.x : i % 4 == 1 ? four.y : i % 4 == 2 ? four.z : four.w;
            state.out[tile][i] = fmaf(mine, weights.own[mla_own(i)], left_one * weights.other[mla_own(i)]);
        }
    wgmma_wait<0>();
#pragma unroll
    for (int tile = 0; tile < joint_half; tile++)
        wgmma_settle(fresh[tile]);
    if (warpgroup == late_group)
        mla_release(base + memory::empty + late_group * 8);
    mla_release(base + memory::q_empty); /* keys of the next piece come behind it */
#pragma unroll
    for (int tile = 0; tile < joint_half; tile++)
#pragma unroll
        for (int i = 0; i < ends_rows / 2; i++)
            fresh[tile][i] = fmaf(fresh[tile][i], weights.fresh[mla_own(i)], state.out[tile][i]);
    if (piece.whole)
        joint_store_whole(arguments.problem, piece.request, row0, left, fresh, warpgroup);
    else
        joint_store_part(arguments, piece.slot, fresh, warpgroup);
}

#endif

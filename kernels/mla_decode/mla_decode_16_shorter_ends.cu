/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 13 with what its blocks and ends wait for made shorter: a warp's maxima of all columns are found side by side, the
 * keys that a row sees are divided out once a request; warpgroups meet once before they add up, log-sums are a row a
 * lane behind the results, and no part of a cut request meets twice in a row (mla_decode_meet_once.cuh).
 */
#include "kernels/mla_decode/mla_decode_meet_once.cuh"
#include "kernels/mla_decode/mla_decode_shorter.cuh"

/* Before warpgroups meet: each leaves the other its sums of half of the columns, and what warps have of its rows: a sum
 * a warp, and a maximum. */
static __device__ __forceinline__ void shorter_leave(ends_state &state, uint32_t base, int warpgroup)
{
    using memory = mla_transposed<ends_rows>;
    constexpr int half = mla_d_v / 128;
    const int others = half - warpgroup * half, warp = threadIdx.x / 32;
    const uint32_t sums = base + memory::warp_sum, maxima = base + memory::totals;
    shorter_reduce_lanes<false>(state.sum);
    if (threadIdx.x % 32 < 4)
#pragma unroll
        for (int j = 0; j < shorter_own; j++) {
            st_shared_f32(sums + (mla_head(j) * 8 + warp) * 4, state.sum[j]);
            if (warp % 4 == 0)
                st_shared_f32(maxima + (mla_head(j) * 2 + warpgroup) * 4, state.max[j]);
        }
#pragma unroll
    for (int tile = 0; tile < half; tile++)
#pragma unroll
        for (int i = 0; i < ends_rows / 2; i++)
            st_shared_f32(ends_at(base + ends_stage, others + tile, i),
                          warpgroup ? state.out[tile][i] : state.out[half + tile][i]);
}

/* Both warpgroups' sums become averages in the stage, and behind each row's averages there are its maximum and sum.
 * Named barrier 3. */
static __device__ __forceinline__ void shorter_average(ends_state &state, uint32_t base, int warpgroup)
{
    using memory = mla_transposed<ends_rows>;
    constexpr int half = mla_d_v / 128;
    const uint32_t stage = base + ends_stage, sums = base + memory::warp_sum, maxima = base + memory::totals;
    float keep[shorter_own], add[shorter_own];
    shorter_leave(state, base, warpgroup);
    named_sync(3, 256);
#pragma unroll
    for (int j = 0; j < shorter_own; j++) {
        const float4 first = mla_shared_four(sums + mla_head(j) * 32);
        const float4 second = mla_shared_four(sums + mla_head(j) * 32 + 16);
        const float2 of = ld_shared_v2_f32(maxima + mla_head(j) * 8);
        const float max = fmaxf(of.x, of.y), factor0 = mla_factor(of.x, max), factor1 = mla_factor(of.y, max);
        const float sum =
            fmaf(first.x + first.y + first.z + first.w, factor0, (second.x + second.y + second.z + second.w) * factor1);
        const float inverse = sum == 0 ? 0 : __fdividef(1, sum);
        keep[j] = (warpgroup ? factor1 : factor0) * inverse;
        add[j] = (warpgroup ? factor0 : factor1) * inverse;
        if (threadIdx.x < 4) {
            st_shared_f32(stage + mla_head(j) * ends_pitch + mla_d_v * 4, max);
            st_shared_f32(stage + mla_head(j) * ends_pitch + mla_d_v * 4 + 4, sum);
        }
    }
#pragma unroll
    for (int tile = 0; tile < half; tile++)
#pragma unroll
        for (int i = 0; i < ends_rows / 2; i++) {
            const float mine = warpgroup ? state.out[half + tile][i] : state.out[tile][i];
            const uint32_t at = ends_at(stage, warpgroup * half + tile, i);
            st_shared_f32(at, fmaf(mine, keep[mla_own(i)], ld_shared_f32(at) * add[mla_own(i)]));
        }
    named_sync(3, 256);
}

/* All of a tile of 16 rows: the loads from the stage are on their way together. */
static __device__ __forceinline__ void shorter_store(const mla_tile_arguments &arguments, const mla_piece &piece,
                                                     int row0, uint32_t stage)
{
    const int all = mla_rows_of(arguments.problem);
    if (all - row0 < ends_rows) {
        ends_store(arguments, piece, row0, stage);
        return;
    }
    const int row = threadIdx.x / mla_row_elements, column = threadIdx.x % mla_row_elements * 4;
    const int64_t at = ((int64_t)(piece.whole ? piece.request : piece.slot) * all + row0 + row) * mla_d_v + column;
    float4 value[ends_rows / 2];
#pragma unroll
    for (int i = 0; i < ends_rows / 2; i++)
        value[i] = mla_shared_four(stage + (row + 2 * i) * ends_pitch + column * 4);
    if (piece.whole) {
#pragma unroll
        for (int i = 0; i < ends_rows / 2; i++)
            *(uint2 *)(arguments.problem.out + at + i * 2 * mla_d_v) =
                make_uint2(mla_pack(value[i].x, value[i].y), mla_pack(value[i].z, value[i].w));
    } else {
#pragma unroll
        for (int i = 0; i < ends_rows / 2; i++)
            __stcg((float4 *)(arguments.split.part_out + at + i * 2 * mla_d_v), value[i]);
    }
}

/* A row a lane of the first warp. */
static __device__ __forceinline__ void shorter_store_lse(const mla_tile_arguments &arguments, const mla_piece &piece,
                                                         int row0, uint32_t stage)
{
    const mla_problem &problem = arguments.problem;
    const int row = row0 + (int)threadIdx.x, rows = mla_rows_of(problem);
    if (threadIdx.x >= ends_rows || row >= rows)
        return;
    const float2 of = ld_shared_v2_f32(stage + threadIdx.x * ends_pitch + mla_d_v * 4);
    const float max = of.x, sum = of.y;
    const float lse = sum > 0 || sum != sum ? max * mla_scale_log2 + log2f(sum) : -INFINITY;
    if (piece.whole)
        problem.lse[mla_lse_at(problem, piece.request, row)] = lse == -INFINITY ? INFINITY : lse * mla_ln2;
    else
        __stcg(arguments.split.part_lse + (int64_t)piece.slot * rows + row, lse);
}

static __device__ __forceinline__ void shorter_consume(const mla_tile_arguments &arguments, uint32_t base,
                                                       int warpgroup)
{
    using memory = mla_transposed<ends_rows>;
    const int row0 = blockIdx.x * ends_rows;
    uint32_t parity = 0, done = 0; /* pieces: none, 1 an odd number, 2 an even one */
    mla_once_each_piece(arguments, [&](const mla_piece &piece, bool beyond) {
        ends_state state = {};
        const int seen = mla_visible(arguments.problem, piece.length, row0);
        if (done) /* the other warpgroup has read the stage too */
            named_sync(3, 256);
        mla_once_keep(base + ends_kept, piece, beyond);
#pragma unroll
        for (int j = 0; j < shorter_own; j++)
            state.max[j] = -INFINITY;
        mbarrier_wait(base + memory::q_full, done & 1);
        done = done & 1 ? 2 : 1;
#pragma unroll 1
        for (int block = piece.first + warpgroup; block < piece.last; block += 2, parity ^= 1)
            shorter_block(state, base, warpgroup, parity, arguments.problem, piece.length, block * mla_block_keys,
                          seen);
        mla_release(base + memory::q_empty);
        shorter_average(state, base, warpgroup);
        shorter_store(arguments, piece, row0, base + ends_stage);
        shorter_store_lse(arguments, piece, row0, base + ends_stage);
        if (!piece.whole)
            mla_once_announce(arguments, base + ends_kept, piece.slot % 2);
    });
    const mla_meet_rows rows = {row0, min(ends_rows, mla_rows_of(arguments.problem) - row0)};
    mla_once_all(arguments, rows, base + ends_kept, base);
}

/* blockIdx: tile of rows, part. */
static __global__ void __launch_bounds__(mla_threads, 1)
    shorter_kernel(const __grid_constant__ mla_tile_arguments arguments)
{
    extern __shared__ __align__(1024) char dynamic[];
    const uint32_t base = shared_address(dynamic);
    ends_begin(arguments, base);
    const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);
    if (warpgroup == 2) {
        registers_give<mla_producer_registers>();
        const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0) - 8;
        if (warp == 0)
            mla_transposed_produce<ends_rows, 1, true>(arguments, base);
    } else {
        registers_take<mla_consumer_registers>();
        shorter_consume(arguments, base, warpgroup);
    }
}

static int setup(struct ridge_call *call, void **state)
{
    return ends_setup(call, (const void *)shorter_kernel, state);
}

static int launch(const struct ridge_call *call)
{
    return mla_meet_launch(call, shorter_kernel, ends_bytes, ends_row_tiles(call->dim));
}

extern "C" const struct ridge_variant ridge_variant_mla_decode_16_shorter_ends = {
    .idea = "13 with shorter chains in a block's softmax and at a request's end; no part meets twice in a row",
    .source = "",
    .changes =
        "against 13: maxima of all columns side by side, warpgroups meet once before sums are averages, log-sums a "
        "row a lane, a part that goes on behind a cut request takes no share of it",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = ends_unsupported,
    .issued = ends_issued,
    .workspace_bytes = ends_workspace_bytes,
    .setup = setup,
    .teardown = mla_meet_teardown,
    .launch = launch,
    .kernel = (const void *)shorter_kernel,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 08 with short ends, for tiles of 16 rows: parts meet (mla_decode_meet.cuh); both warpgroups' sums become averages in
 * shared memory, from where whole rows of results are stored; the page of the first block is fetched while lengths are.
 */
#include "kernels/mla_decode/mla_decode_ends.cuh"

/* Each warpgroup leaves its sums of half of the columns to the other, and makes averages of its own half. */
static __device__ __forceinline__ void ends_average(const ends_state &state, uint32_t stage, int warpgroup,
                                                    const float (&factor)[ends_rows / 4])
{
    constexpr int half = mla_d_v / 128;
    const int own = warpgroup * half, others = half - own;
    float inverse[ends_rows / 4];
#pragma unroll
    for (int tile = 0; tile < half; tile++)
#pragma unroll
        for (int i = 0; i < ends_rows / 2; i++) {
            const float give = warpgroup ? state.out[tile][i] : state.out[half + tile][i];
            st_shared_f32(ends_at(stage, others + tile, i), give * factor[mla_own(i)]);
        }
    named_sync(3, 256);
#pragma unroll
    for (int j = 0; j < ends_rows / 4; j++)
        inverse[j] = state.sum[j] == 0 ? 0 : 1 / state.sum[j];
#pragma unroll
    for (int tile = 0; tile < half; tile++)
#pragma unroll
        for (int i = 0; i < ends_rows / 2; i++) {
            const float keep = warpgroup ? state.out[half + tile][i] : state.out[tile][i];
            const uint32_t at = ends_at(stage, own + tile, i);
            st_shared_f32(at, fmaf(keep, factor[mla_own(i)], ld_shared_f32(at)) * inverse[mla_own(i)]);
        }
    named_sync(3, 256);
}

static __device__ __forceinline__ void ends_consume(const mla_tile_arguments &arguments, uint32_t base, int warpgroup)
{
    using memory = mla_transposed<ends_rows>;
    const int row0 = blockIdx.x * ends_rows;
    uint32_t parity = 0, q_parity = 0;
    mla_each_piece<false>(arguments, [&](const mla_piece &piece) {
        ends_state state = {};
        float factor[ends_rows / 4];
        mla_meeting_keep(base + ends_kept, piece);
#pragma unroll
        for (int j = 0; j < ends_rows / 4; j++)
            state.max[j] = -INFINITY;
        mbarrier_wait(base + memory::q_full, q_parity);
        q_parity ^= 1;
#pragma unroll 1
        for (int block = piece.first + warpgroup; block < piece.last; block += 2, parity ^= 1)
            apart_block<ends_rows>(state, base, warpgroup, parity, arguments.problem, piece.length,
                                   block * mla_block_keys);
        mla_release(base + memory::q_empty);
        apart_totals<ends_rows>(state, base, warpgroup, factor);
        if (warpgroup == 0 && threadIdx.x < 4)
            mla_transposed_store_lse<ends_rows>(arguments, piece, row0, state.max, state.sum);
        ends_average(state, base + ends_stage, warpgroup, factor);
        ends_store(arguments, piece, row0, base + ends_stage);
        if (!piece.whole)
            mla_meet_announce(arguments, base + ends_kept, piece.slot % 2);
    });
    const mla_meet_rows rows = {row0, min(ends_rows, mla_rows_of(arguments.problem) - row0)};
    mla_meet_kept(arguments, rows, base + ends_kept, base);
}

/* blockIdx: tile of rows, part. */
static __global__ void __launch_bounds__(mla_threads, 1)
    ends_kernel(const __grid_constant__ mla_tile_arguments arguments)
{
    extern __shared__ __align__(1024) char dynamic[];
    const uint32_t base = shared_address(dynamic);
    ends_begin(arguments, base);
    const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);
    if (warpgroup == 2) {
        registers_give<mla_producer_registers>();
        if (threadIdx.x / 32 == 8)
            mla_transposed_produce<ends_rows, 1, true>(arguments, base);
    } else {
        registers_take<mla_consumer_registers>();
        ends_consume(arguments, base, warpgroup);
    }
}

static int setup(struct ridge_call *call, void **state)
{
    return ends_setup(call, (const void *)ends_kernel, state);
}

static int launch(const struct ridge_call *call)
{
    return mla_meet_launch(call, ends_kernel, ends_bytes, ends_row_tiles(call->dim));
}

extern "C" const struct ridge_variant ridge_variant_mla_decode_13_short_ends = {
    .idea =
        "08 with short ends: parts meet, results are stored as whole rows, the first page is fetched with the lengths",
    .source = "",
    .changes = "against 08: no second kernel, sums through shared memory, keys of a short cache leave L2 first",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = ends_unsupported,
    .issued = ends_issued,
    .workspace_bytes = ends_workspace_bytes,
    .setup = setup,
    .teardown = mla_meet_teardown,
    .launch = launch,
    .kernel = (const void *)ends_kernel,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each of two consumer warpgroups has every other block for itself, with sums of its own for all 512 columns; they meet
 * only at the end of a piece.
 */
#include "kernels/ptx/emulate.cuh"

#include "kernels/mla_decode/mla_decode_apart.cuh"
#include "kernels/mla_decode/mla_decode_transposed_launch.cuh"

/* Each warpgroup gives the other its sums of half of the columns, a tile at a time, and finishes its own half. */
template <int heads, typename function>
static __device__ __forceinline__ void apart_merge(apart_state<heads> &state, uint32_t base, int warpgroup,
                                                   const float (&factor)[heads / 4], const function &store)
{
    constexpr int half = mla_d_v / 128;
    const uint32_t exchange = base + mla_transposed<heads>::exchange + threadIdx.x % 128 * 4;
#pragma unroll
    for (int tile = 0; tile < half; tile++) {
        float mine[heads / 2];
#pragma unroll
        for (int i = 0; i < heads / 2; i++) {
            const float give = warpgroup ? state.out[tile][i] : state.out[half + tile][i];
            st_shared_f32(exchange + (warpgroup * (heads / 2) + i) * 512, give * factor[mla_own(i)]);
        }
        named_sync(3, 256);
#pragma unroll
        for (int i = 0; i < heads / 2; i++) {
            const float keep = warpgroup ? state.out[half + tile][i] : state.out[tile][i];
            mine[i] = keep * factor[mla_own(i)] + ld_shared_f32(exchange + ((1 - warpgroup) * (heads / 2) + i) * 512);
        }
        named_sync(3, 256);
        store(mine, (warpgroup * half + tile) * 64);
    }
}

template <int heads>
static __device__ __forceinline__ void apart_consume(const mla_tile_arguments &arguments, uint32_t base, int warpgroup)
{
    using memory = mla_transposed<heads>;
    const int row0 = blockIdx.x * heads;
    uint32_t parity = 0, q_parity = 0;
    mla_each_piece(arguments, [&](const mla_piece &piece) {
        apart_state<heads> state = {};
        float factor[heads / 4];
#pragma unroll
        for (int j = 0; j < heads / 4; j++)
            state.max[j] = -INFINITY;
        mbarrier_wait(base + memory::q_full, q_parity);
        q_parity ^= 1;
#pragma unroll 1
        for (int block = piece.first + warpgroup; block < piece.last; block += 2, parity ^= 1)
            apart_block<heads>(state, base, warpgroup, parity, arguments.problem, piece.length, block * mla_block_keys);
        mla_release(base + memory::q_empty);
        apart_totals<heads>(state, base, warpgroup, factor);
        apart_merge<heads>(state, base, warpgroup, factor, [&](const float(&value)[heads / 2], int column0) {
            mla_transposed_store<heads>(arguments, piece, row0, state.sum, value, column0);
        });
        if (warpgroup == 0 && threadIdx.x < 4)
            mla_transposed_store_lse<heads>(arguments, piece, row0, state.max, state.sum);
    });
}

/* blockIdx: tile of rows, part. */
template <int heads>
static __global__ void __launch_bounds__(mla_threads, 1)
    apart_kernel(const __grid_constant__ mla_tile_arguments arguments)
{
    using memory = mla_transposed<heads>;
    extern __shared__ __align__(1024) char dynamic[];
    const uint32_t base = shared_address(dynamic);
    if (threadIdx.x == 0)
        mla_transposed_init<heads>(base, 4, 8);
    emulate_begin();
    __syncthreads();
    grid_launch_dependents();
    const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);
    if (warpgroup == 2) {
        registers_give<mla_producer_registers>();
        if (threadIdx.x / 32 == 8)
            mla_transposed_produce<heads, 1>(arguments, base);
    } else {
        registers_take<mla_consumer_registers>();
        apart_consume<heads>(arguments, base, warpgroup);
    }
}

static int setup(struct ridge_call *call, void **state)
{
    const int rows = mla_transposed_tile_rows(call->dim);
    if (rows == 16)
        return mla_setup(call, (const void *)apart_kernel<16>, mla_transposed<16>::bytes, rows,
                         mla_transposed_parts(call->dim, call->device), state);
    return mla_setup(call, (const void *)apart_kernel<32>, mla_transposed<32>::bytes, rows,
                     mla_transposed_parts(call->dim, call->device), state);
}

static int launch(const struct ridge_call *call)
{
    if (mla_transposed_tile_rows(call->dim) == 16)
        return mla_launch(call, apart_kernel<16>, mla_transposed<16>::bytes, mla_transposed_row_tiles(call->dim));
    return mla_launch(call, apart_kernel<32>, mla_transposed<32>::bytes, mla_transposed_row_tiles(call->dim));
}

extern "C" const struct ridge_variant ridge_variant_mla_decode_08_transposed = {
    .idea = "transposed products for few rows, each warpgroup with blocks of keys of its own",
    .source = "FlashMLA-ETAP, arXiv 2506.01969",
    .changes = "no turns: warpgroups meet only at the end of a request",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = mla_transposed_unsupported,
    .issued = mla_transposed_issued,
    .workspace_bytes = mla_transposed_workspace_bytes,
    .setup = setup,
    .teardown = free,
    .launch = launch,
    .kernel = (const void *)apart_kernel<16>,
};

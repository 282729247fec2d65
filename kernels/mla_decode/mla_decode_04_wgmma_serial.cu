/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ptx/emulate.cuh"

#include "kernels/mla_decode/mla_decode_launch.cuh"
#include "kernels/mla_decode/mla_decode_pieces.cuh"

/* Tiles 0 to 3 of a block are given back by warpgroup 0, the others by warpgroup 1; the last, which then holds the
 * probabilities, is loaded when both are. */
static __device__ __forceinline__ void load_block(const mla_tile_arguments &arguments, const mla_shared &shared,
                                                  int block, int page, int key, uint32_t parity)
{
    if (threadIdx.x % 32 == 0) {
        for (int tile = 0; tile < mla_tiles; tile++) {
            if (tile % 4 == 0 && tile < 8)
                mbarrier_wait(shared.empty(block, tile / 4), parity ^ 1);
            mla_load_keys(arguments, shared.keys(block), tile, page, key, shared.full(block, tile));
        }
    }
    __syncwarp();
}

static __device__ __forceinline__ void produce(const mla_tile_arguments &arguments, const mla_shared &shared)
{
    uint32_t q_parity = 0, count = 0;
    mla_each_piece(arguments, [&](const mla_piece &piece) {
        mla_pages pages = {-32, 0};
        mla_produce_q(arguments, shared, piece, q_parity);
        q_parity ^= 1;
        for (int block = piece.first; block < piece.last; block++, count++)
            load_block(arguments, shared, count & 1,
                       mla_page_of_block(arguments.problem, pages, piece.request, block, piece.last),
                       block * mla_block_keys, count / 2 & 1);
    });
}

/* Warpgroup 0: scores and probabilities of a block; factor: what the sums so far are worth. */
static __device__ __forceinline__ void make_probabilities(const mla_shared &shared, int block, uint32_t parity, int key,
                                                          int length, mla_row_pair &rows, float (&factor)[2])
{
    float score[32];
    const float old[2] = {rows.max[0], rows.max[1]};
    uint32_t p[4][4];
    mla_scores_of_tiles(score, shared, block, parity, 0, mla_tiles, 0);
    wgmma_commit();
    wgmma_wait<0>();
    wgmma_settle(score);
    if (length - key < mla_block_keys)
        mla_clear_values(shared.keys(block), length - key);
    named_sync(6, 128);
    mla_mask(score, rows.visible, key);
    mla_raise(rows.max, score);
    mla_factors(factor, old, rows.max);
    for (int half = 0; half < 2; half++)
        rows.sum[half] *= factor[half];
    mla_exponentiate(score, rows.max, rows.sum);
    mla_round(p, score);
    mla_store_probabilities(shared.keys(block) + 8 * mla_tile_bytes, p);
    mla_announce(shared, block, factor);
}

static __device__ __forceinline__ void consume(const mla_tile_arguments &arguments, const mla_shared &shared,
                                               int warpgroup)
{
    const int row0 = blockIdx.x * mla_tile_rows;
    uint32_t q_parity = 0, count = 0;
    mla_each_piece(arguments, [&](const mla_piece &piece) {
        float out[mla_half / 2], factor[2];
        mla_row_pair rows;
        mla_begin_rows(arguments.problem, piece, row0, out, rows);
        mbarrier_wait(shared.q_full(), q_parity);
#pragma unroll 1
        for (int index = piece.first; index < piece.last; index++, count++) {
            const int block = count & 1;
            if (warpgroup == 0)
                make_probabilities(shared, block, count / 2 & 1, index * mla_block_keys, piece.length, rows, factor);
            named_sync(1, 256);
            mla_announced(shared, block, factor);
            mla_scale_rows(out, factor);
            wgmma_fence();
            mla_add_values(out, shared.keys(block) + 8 * mla_tile_bytes, shared.keys(block), warpgroup);
            wgmma_commit();
            wgmma_wait<0>();
            wgmma_settle(out);
            mla_release(shared.empty(block, warpgroup));
        }
        mla_finish(arguments, shared, piece, (int)q_parity, row0, warpgroup, out, rows);
        q_parity ^= 1;
    });
}

/* blockIdx: tile of rows, part. */
static __global__ void __launch_bounds__(mla_threads, 1)
    mla_serial_kernel(const __grid_constant__ mla_tile_arguments arguments)
{
    extern __shared__ __align__(1024) char memory[];
    const mla_shared shared = {shared_address(memory)};
    if (threadIdx.x == 0)
        mla_init_barriers(shared);
    emulate_begin();
    __syncthreads();
    grid_launch_dependents();
    const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);
    if (warpgroup == 2) {
        registers_give<mla_producer_registers>();
        if (threadIdx.x / 32 == 8)
            produce(arguments, shared);
    } else {
        registers_take<mla_consumer_registers>();
        consume(arguments, shared, warpgroup);
    }
}

static int setup(struct ridge_call *call, void **state)
{
    return mla_tile_setup(call, (const void *)mla_serial_kernel, state);
}

static int launch(const struct ridge_call *call)
{
    return mla_tile_launch(call, mla_serial_kernel);
}

extern "C" const struct ridge_variant ridge_variant_mla_decode_04_wgmma_serial = {
    .idea = "64 rows a CTA on WGMMA: one warpgroup makes scores and probabilities, two have half of the output each",
    .source = "",
    .changes = "tensor cores, TMA; products and exponentials take turns",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = mla_tile_unsupported,
    .issued = mla_tile_issued,
    .workspace_bytes = mla_tile_workspace_bytes,
    .setup = setup,
    .teardown = free,
    .launch = launch,
    .kernel = (const void *)mla_serial_kernel,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Consumers with two sets of sums: a block of k is promoted while the WGMMAs of the next one run, also across the end of
 * a tile, whose store they cover. One row set a consumer. */
#ifndef RIDGE_GEMM_1D1D_INTERLEAVED_CUH
#define RIDGE_GEMM_1D1D_INTERLEAVED_CUH

#include "kernels/gemm_fp8_block_1d1d/gemm_1d1d_schedule.cuh"

/* A block whose products are under way. */
struct gemm_1d1d_block {
    uint32_t scales_a, scales_b, empty;
    bool closes; /* the last of its tile, `work` */
    gemm_1d1d_work work;
};

/* The blocks of all tiles of a consumer, one after the other. */
template <typename tile, typename walk> struct gemm_1d1d_stream {
    const gemm_1d1d_arguments<walk> &arguments;
    const gemm_part &part;
    gemm_1d1d_reader &reader;
    walk tiles;
    int warpgroup, left; /* left: blocks of `work` that are not started */
    gemm_1d1d_work work;

    /* To the next block; false: there is none. */
    __device__ __forceinline__ bool advance()
    {
        if (left > 0)
            return true;
        const bool more = tiles.template next<tile>(work, arguments.cluster, part);
        left = work.blocks;
        return more;
    }

    /* Starts the products of the block into `sum` as a group of their own. */
    __device__ __forceinline__ void start(float (&sum)[tile::columns / 2], gemm_1d1d_block &block)
    {
        const ring &ring = reader.stages;
        mbarrier_wait(ring_full(ring, reader.at), reader.at.parity);
        wgmma_fence();
        gemm_fp8_multiply<tile, 0, 4>(sum, ring.data + reader.at.stage * tile::stage_bytes, warpgroup, 0);
        wgmma_commit();
        __syncwarp(); /* as in gemm_1d1d_multiply */
        left--;
        block = {reader.scales_a + reader.at.stage * tile::scale_bytes,
                 reader.scales_b + reader.at.stage * tile::scale_bytes, ring_empty(ring, reader.at), left == 0, work};
        ring_next(ring, reader.at);
    }
};

/* Of `sum`, after which `pending` blocks have been started. */
template <int pending, typename tile, typename walk>
static __device__ __forceinline__ void
gemm_1d1d_promote(const gemm_1d1d_stream<tile, walk> &stream, gemm_1d1d_totals<tile> &total,
                  float (&sum)[tile::columns / 2], const gemm_1d1d_block &block, uint32_t slab)
{
    gemm_1d1d_scales<tile> scales;
    gemm_1d1d_load_rows(scales, block.scales_a);
    gemm_1d1d_load_columns(scales, block.scales_b);
    wgmma_wait<pending>();
    wgmma_settle(sum);
    gemm_1d1d_add<tile, false>(total[0], sum, scales, block.scales_b);
    __syncwarp();
    gemm_release(block.empty, stream.reader.ctas);
    if (block.closes) {
        gemm_1d1d_store<tile>(stream.arguments.d, stream.arguments.out, slab, block.work, stream.warpgroup, total);
#pragma unroll
        for (int i = 0; i < tile::columns / 2; i++)
            total[0][i] = 0;
    }
}

template <typename tile, typename walk>
static __device__ __forceinline__ void gemm_1d1d_consume_interleaved(const gemm_1d1d_arguments<walk> &arguments,
                                                                     gemm_1d1d_reader &reader, uint32_t slabs,
                                                                     const gemm_part &part, int warpgroup)
{
    static_assert(tile::sets == 1, "two sets of sums serve one of rows");
    const uint32_t slab = slabs + threadIdx.x / 32 * tile::slab_bytes;
    gemm_1d1d_totals<tile> total = {};
    float sum[2][tile::columns / 2];
    gemm_1d1d_block block[2];
    gemm_1d1d_stream<tile, walk> stream = {arguments, part, reader, walk(arguments.tiles, part), warpgroup, 0, {}};
    if (!stream.advance())
        return;
    stream.start(sum[0], block[0]);
#pragma unroll 1
    for (;;) {
        if (!stream.advance()) {
            gemm_1d1d_promote<0>(stream, total, sum[0], block[0], slab);
            break;
        }
        stream.start(sum[1], block[1]);
        gemm_1d1d_promote<1>(stream, total, sum[0], block[0], slab);
        if (!stream.advance()) {
            gemm_1d1d_promote<0>(stream, total, sum[1], block[1], slab);
            break;
        }
        stream.start(sum[0], block[0]);
        gemm_1d1d_promote<1>(stream, total, sum[1], block[1], slab);
    }
    if (threadIdx.x % 32 == 0)
        bulk_wait<0>();
}

template <typename tile, typename walk>
static __global__ void __launch_bounds__(tile::threads, 1)
    gemm_1d1d_kernel_interleaved(const __grid_constant__ gemm_1d1d_arguments<walk> arguments)
{
    extern __shared__ __align__(1024) char memory[];
    gemm_1d1d_run<tile, walk, gemm_1d1d_consume_interleaved<tile, walk>>(arguments, shared_address(memory));
}

#endif

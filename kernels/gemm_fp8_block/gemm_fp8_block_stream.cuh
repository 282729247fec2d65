/* SPDX-License-Identifier: Apache-2.0 */
/* Scales of B in registers, read ahead by the consumers of gemm_fp8_block_09. */
#ifndef RIDGE_GEMM_FP8_BLOCK_STREAM_CUH
#define RIDGE_GEMM_FP8_BLOCK_STREAM_CUH

#include "kernels/gemm_fp8_block/gemm_fp8_block_cluster.cuh"

/* The scales of B that a consumer meets, 16 blocks of k at a time, tile after tile: lane l of a warp has that of the
 * tile's row l / 16 of scale_b and block l % 16. */
struct gemm_fp8_block_stream {
    float now, next; /* next: loaded while `now` is read */
    float b[2];      /* of the block at hand, both rows */
};

static __device__ __forceinline__ float gemm_fp8_block_stream_load(const gemm_fp8_block_cluster_arguments &arguments,
                                                                   int column0, int i)
{
    const int lane = (int)(thread_again() % 32), blocks = arguments.cluster.gemm.blocks;
    const int row = column0 / 128 + lane / 16, block = i + lane % 16;
    return __ldg(arguments.scale_b + (int64_t)(row < arguments.last_block_n ? row : arguments.last_block_n) * blocks +
                 (block < blocks ? block : blocks - 1));
}

/* In block i of the tile at `column`: loads what comes after the 16 at hand, which may be the first of the tile at
 * `following`. */
static __device__ __forceinline__ void gemm_fp8_block_stream_ahead(gemm_fp8_block_stream &stream,
                                                                   const gemm_fp8_block_cluster_arguments &arguments,
                                                                   int i, int column, int following)
{
    const int blocks = arguments.cluster.gemm.blocks, behind = i / 16 * 16 + 16;
    if (i % 16 == 1 || (i % 16 == 0 && i + 1 == blocks))
        stream.next =
            gemm_fp8_block_stream_load(arguments, behind < blocks ? column : following, behind < blocks ? behind : 0);
}

/* From block i of the tile at `column` to the next one, which may be the first of the tile at `following`. The choice
 * between now and next waits for a load under way, whatever it chooses; a load therefore starts behind it, but for a
 * tile that ends. */
static __device__ __forceinline__ void gemm_fp8_block_stream_on(gemm_fp8_block_stream &stream,
                                                                const gemm_fp8_block_cluster_arguments &arguments,
                                                                int i, int column, int following)
{
    const bool ends = i + 1 == arguments.cluster.gemm.blocks;
    const int block = ends ? 0 : i + 1;
    if (ends)
        gemm_fp8_block_stream_ahead(stream, arguments, i, column, following);
    if (block % 16 == 0)
        stream.now = stream.next;
    stream.b[0] = __shfl_sync(~0u, stream.now, block % 16);
    stream.b[1] = __shfl_sync(~0u, stream.now, block % 16 + 16);
    if (!ends)
        gemm_fp8_block_stream_ahead(stream, arguments, i, column, following);
}

#endif

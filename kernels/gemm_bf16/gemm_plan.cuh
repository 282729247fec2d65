/* SPDX-License-Identifier: Apache-2.0 */
/* Host side of the WGMMA kernels: what setup decides once per shape and launch only passes on. */
#ifndef RIDGE_GEMM_PLAN_CUH
#define RIDGE_GEMM_PLAN_CUH

#include "kernels/gemm_bf16/gemm_tile.cuh"
#include "kernels/support/launch.cuh"
#include "kernels/support/tensor_map.h"
#include "kernels/support/tile_order.h"

#include <stdlib.h>
#include <string.h>

/* Tensor maps of the operands, loaded in boxes of 64 elements of k under the 128-byte swizzle. */
struct gemm_maps {
    CUtensorMap a, b;
};

static inline const char *gemm_unsupported(const int64_t *dim, const struct ridge_device *)
{
    return dim[2] % 8 ? "k is not a multiple of 8: tensor copies need rows of A and B at multiples of 16 bytes" : NULL;
}

/* Boxes of box_a rows of A and box_b rows of B. */
static inline int gemm_encode(const struct ridge_call *call, int box_a, int box_b, struct gemm_maps *maps)
{
    struct tensor_map_matrix matrix = {};
    matrix.dtype = RIDGE_BF16;
    matrix.columns = matrix.pitch = call->dim[2];
    matrix.box_columns = gemm_depth;
    matrix.swizzle_bytes = 128;

    matrix.name = "a";
    matrix.address = call->buffer[0];
    matrix.rows = call->dim[0];
    matrix.box_rows = box_a;
    if (tensor_map_encode(call, &matrix, &maps->a))
        return 1;
    matrix.name = "b";
    matrix.address = call->buffer[1];
    matrix.rows = call->dim[1];
    matrix.box_rows = box_b;
    return tensor_map_encode(call, &matrix, &maps->b);
}

static inline struct gemm_output gemm_output_of(const struct ridge_call *call)
{
    return {(bf16 *)call->buffer[2], call->dim[0], call->dim[1]};
}

/* Zeroed memory for a plan, aligned as tensor maps must be; NULL with call->error. */
static inline void *gemm_plan_new(const struct ridge_call *call, size_t bytes)
{
    void *plan = NULL;
    if (posix_memalign(&plan, 64, bytes)) {
        snprintf(call->error, call->error_bytes, "out of memory");
        return NULL;
    }
    return memset(plan, 0, bytes);
}

/* Tiles of D in clusters of rows x columns tiles, walked in bands of `band` cluster rows. */
template <typename tile> static inline struct tile_order gemm_order(const int64_t *dim, int rows, int columns, int band)
{
    struct tile_order order;
    order.rows = (int)ridge_ceil_div(dim[0], tile::rows * rows);
    order.columns = (int)ridge_ceil_div(dim[1], tile::columns * columns);
    order.band = band < order.rows ? band : order.rows;
    return order;
}

/* issued of a kernel without choices: whole tiles, in whole clusters of `cluster_rows`, are multiplied over whole stages,
 * and every tile's operands come from L2, those of B once a cluster. */
template <typename tile, int cluster_rows = 1>
static void gemm_issued(const int64_t *dim, const struct ridge_device *, struct ridge_work *work)
{
    const double tiles = (double)cluster_rows * tile_count(gemm_order<tile>(dim, cluster_rows, 1, 1));
    const double depth = (double)gemm_blocks((int)dim[2]) * gemm_depth;
    work->tiles = tiles;
    work->flop_bf16 = 2 * tiles * tile::rows * tile::columns * depth;
    work->bytes_l2 = 2 * tiles * (tile::rows + (double)tile::columns / cluster_rows) * depth;
}

/* setup of a kernel without choices: allows `bytes` of dynamic shared memory; the state is a gemm_maps. */
template <typename tile, int box_a = tile::rows, int box_b = tile::columns>
static int gemm_setup_maps(struct ridge_call *call, const void *kernel, int bytes, void **state)
{
    RIDGE_CUDA(call, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    struct gemm_maps *maps = (struct gemm_maps *)gemm_plan_new(call, sizeof *maps);
    if (maps && gemm_encode(call, box_a, box_b, maps)) {
        free(maps);
        maps = NULL;
    }
    *state = maps;
    return maps ? 0 : 1;
}

#endif

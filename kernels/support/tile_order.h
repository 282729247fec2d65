/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which a persistent grid walks the tiles of a matrix: bands of `band` tile rows, in a band column by
 * column. Tiles in flight at one time then form a block of about band x (SMs / band), which reads few distinct rows of
 * both operands from L2. */
#ifndef RIDGE_SUPPORT_TILE_ORDER_H
#define RIDGE_SUPPORT_TILE_ORDER_H

#ifdef __CUDACC__
#define TILE_ORDER_FUNCTION static __host__ __device__ __forceinline__
#else
#define TILE_ORDER_FUNCTION static inline
#endif

struct tile_order {
    int rows, columns; /* tiles; their product below 2^31 */
    int band;          /* 1 to rows */
};

struct tile_place {
    int row, column;
};

TILE_ORDER_FUNCTION int tile_count(struct tile_order order)
{
    return order.rows * order.columns;
}

TILE_ORDER_FUNCTION struct tile_place tile_at(struct tile_order order, int index)
{
    const int band_tiles = order.band * order.columns, first = index / band_tiles * order.band;
    const int height = order.rows - first < order.band ? order.rows - first : order.band;
    const struct tile_place place = {first + index % band_tiles % height, index % band_tiles / height};
    return place;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Host side and epilogue shared by the register-tiled kernels. */
#ifndef RIDGE_GEMM_F32_TILE_CUH
#define RIDGE_GEMM_F32_TILE_CUH

#include "kernels/support/launch.cuh"

enum { TILE_M = 128, TILE_N = 128 };

/* A warp's 32 lanes as 8 x 4. Lanes 2i and 2i + 1 share a row of A, lanes i and i ^ 2 share a row of B: a 16-byte read
 * from shared memory then takes 2 wavefronts where it would take 4. */
static __device__ __forceinline__ int lane_row(int lane)
{
    return lane >> 1 & 7;
}

static __device__ __forceinline__ int lane_column(int lane)
{
    return (lane & 1) | (lane >> 3 & 2);
}

/* Tile of a block: 16 rows of tiles are walked column by column, so that the blocks running at one time share operands
 * in the L2 cache. */
static __device__ __forceinline__ void tile_origin(int tiles_m, int tiles_n, int *row0, int *column0)
{
    const int group = 16;
    const int first = (int)(blockIdx.x / (unsigned)(group * tiles_n)) * group;
    const int rows = min(group, tiles_m - first);
    const int inside = (int)(blockIdx.x % (unsigned)(group * tiles_n));
    *row0 = (first + inside % rows) * TILE_M;
    *column0 = inside / rows * TILE_N;
}

/* Four neighbours of one row of D; 16 bytes at once where D's rows are aligned. */
static __device__ __forceinline__ void store_four(float *d, int row, int column, int m, int n, float4 value)
{
    if (row >= m)
        return;
    float *out = d + (int64_t)row * n + column;
    if (n % 4 == 0) {
        if (column < n)
            *(float4 *)out = value;
    } else {
        if (column < n)
            out[0] = value.x;
        if (column + 1 < n)
            out[1] = value.y;
        if (column + 2 < n)
            out[2] = value.z;
        if (column + 3 < n)
            out[3] = value.w;
    }
}

/* Whole tiles are computed whatever m, n and k; a thread of rows x columns outputs reads rows + columns words of shared
 * memory for rows * columns FMA, in 16-byte reads of 2 wavefronts (128 bytes each) for 128 words of a warp. */
static inline void tile_work(const int64_t *dim, int tile_k, int rows, int columns, struct ridge_work *work)
{
    const double tiles = (double)(ridge_ceil_div(dim[0], TILE_M) * ridge_ceil_div(dim[1], TILE_N));
    const double fma = tiles * TILE_M * TILE_N * (double)(ridge_ceil_div(dim[2], tile_k) * tile_k);
    work->flop_fp32 = 2 * fma;
    work->bytes_l2 = tiles * (TILE_M + TILE_N) * (double)dim[2] * sizeof(float);
    work->bytes_smem = fma / 32 * (rows + columns) / (rows * columns) / 4 * 256;
    work->tiles = tiles;
}

typedef void (*tile_kernel)(const float *, const float *, float *, int, int, int, int, int);

static inline int tile_launch(const struct ridge_call *call, tile_kernel kernel, int threads, size_t smem_bytes)
{
    const int64_t m = call->dim[0], n = call->dim[1], k = call->dim[2];
    const int64_t tiles_m = ridge_ceil_div(m, TILE_M), tiles_n = ridge_ceil_div(n, TILE_N);
    kernel<<<(unsigned)(tiles_m * tiles_n), threads, smem_bytes, ridge_stream(call)>>>(
        (const float *)call->buffer[0], (const float *)call->buffer[1], (float *)call->buffer[2], (int)m, (int)n,
        (int)k, (int)tiles_m, (int)tiles_n);
    return RIDGE_LAUNCHED(call);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What the register-tiled kernels share: the tile, who computes which part of it, the outer product, the host side. */
#ifndef RIDGE_GEMM_F32_TILE_CUH
#define RIDGE_GEMM_F32_TILE_CUH

#include "kernels/support/launch.cuh"

/* A block computes M x N outputs, K k's at a time; a thread ROWS x COLUMNS of them. */
template <int M, int N, int K, int ROWS, int COLUMNS> struct tile_shape {
    static constexpr int m = M, n = N, k = K, rows = ROWS, columns = COLUMNS, threads = M * N / (ROWS * COLUMNS);
};

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

/* Tile of a block: 2048 rows of D are walked column by column, so that the blocks running at one time share operands
 * in the L2 cache. */
template <class T> static __device__ __forceinline__ void tile_origin(int tiles_m, int tiles_n, int *row0, int *column0)
{
    const int group = 2048 / T::m;
    const int first = (int)(blockIdx.x / (unsigned)(group * tiles_n)) * group;
    const int rows = min(group, tiles_m - first);
    const int inside = (int)(blockIdx.x % (unsigned)(group * tiles_n));
    *row0 = (first + inside % rows) * T::m;
    *column0 = inside / rows * T::n;
}

/* First output of a thread in its tile. Two warps along m; a warp has 8 T::rows x 4 T::columns outputs. A thread has
 * pieces of 4 x 4 outputs, 32 rows and 16 columns apart. */
template <class T> static __device__ __forceinline__ int thread_row()
{
    const int warps_n = T::threads / 32 / 2;
    return (int)threadIdx.x / 32 / warps_n * (8 * T::rows) + lane_row(threadIdx.x % 32) * 4;
}

template <class T> static __device__ __forceinline__ int thread_column()
{
    const int warps_n = T::threads / 32 / 2;
    return (int)threadIdx.x / 32 % warps_n * (4 * T::columns) + lane_column(threadIdx.x % 32) * 4;
}

/* k's of tile 0, 1 to T::k of them: the others are whole, so that the main loop has no check of k. */
template <class T> static __device__ __forceinline__ int odd_k(int k)
{
    return (k - 1) % T::k + 1;
}

/* One stage of both operands, transposed: [k][row], so that four rows of one k are a 16-byte word. Rows of B stand in
 * the place of their neighbour, row ^ 1: see multiply. A pitch of 4 words modulo 32 spreads transposing stores over the
 * banks. */
template <class T> struct transposed_stage {
    float a[T::k][T::m + 4], b[T::k][T::n + 4];
};

/* Four of `count` values of every `apart`. */
template <int count, int apart> static __device__ __forceinline__ void read_fours(const float *from, float *value)
{
#pragma unroll
    for (int i = 0; i < count / 4; i++)
        *(float4 *)(value + i * 4) = *(const float4 *)(from + i * apart);
}

/* The thread's operands of one k. a, b: its first row and column of a stage at k 0. */
template <class T>
static __device__ __forceinline__ void read_operands(const float *a, const float *b, int k, float *row, float *column)
{
    read_fours<T::rows, 32>(a + k * (T::m + 4), row);
    read_fours<T::columns, 16>(b + k * (T::n + 4), column);
}

/* sum += a b^T, where b holds neighbouring columns exchanged. Registers lie in two banks, even and odd; an FFMA that
 * reads three registers of one bank issues a cycle late. Words of 16 bytes want four registers in order, the first a
 * multiple of 4: reads put a[r] into bank r % 2 and an unexchanged b[c] into c % 2, stores want sum[r][c] in c % 2, so
 * that all three agree for half of the (r, c). The exchange puts b opposite to sum. Down one column and up the next,
 * two neighbouring FFMA have an operand in common, which the operand cache keeps. */
template <class T>
static __device__ __forceinline__ void multiply(const float *a, const float *b, float (&sum)[T::rows][T::columns])
{
#pragma unroll
    for (int c = 0; c < T::columns; c++)
#pragma unroll
        for (int i = 0; i < T::rows; i++) {
            const int r = c % 2 ? T::rows - 1 - i : i;
            sum[r][c] += a[r] * b[c ^ 1];
        }
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

/* The thread's outputs, the first at (row, column). */
template <class T>
static __device__ __forceinline__ void store_outputs(float *d, int row, int column, int m, int n,
                                                     const float (&sum)[T::rows][T::columns])
{
#pragma unroll
    for (int r = 0; r < T::rows; r++)
#pragma unroll
        for (int c = 0; c < T::columns; c += 4)
            store_four(d, row + r / 4 * 32 + r % 4, column + c / 4 * 16, m, n,
                       make_float4(sum[r][c], sum[r][c + 1], sum[r][c + 2], sum[r][c + 3]));
}

/* Whole tiles are computed whatever m, n and k; a thread reads rows + columns words of shared memory for rows * columns
 * FMA, in 16-byte reads of 2 wavefronts (128 bytes each) for 128 words of a warp. */
template <class T> static void tile_work(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    (void)device;
    const double tiles = (double)(ridge_ceil_div(dim[0], T::m) * ridge_ceil_div(dim[1], T::n));
    const double fma = tiles * T::m * T::n * (double)(ridge_ceil_div(dim[2], T::k) * T::k);
    work->flop_fp32 = 2 * fma;
    work->bytes_l2 = tiles * (T::m + T::n) * (double)dim[2] * sizeof(float);
    work->bytes_smem = fma / 32 * (T::rows + T::columns) / (T::rows * T::columns) / 4 * 256;
    work->tiles = tiles;
}

typedef void (*tile_kernel)(const float *, const float *, float *, int, int, int, int, int);

template <class T> static int tile_launch(const struct ridge_call *call, tile_kernel kernel, size_t smem_bytes)
{
    const int64_t m = call->dim[0], n = call->dim[1], k = call->dim[2];
    const int64_t tiles_m = ridge_ceil_div(m, T::m), tiles_n = ridge_ceil_div(n, T::n);
    kernel<<<(unsigned)(tiles_m * tiles_n), T::threads, smem_bytes, ridge_stream(call)>>>(
        (const float *)call->buffer[0], (const float *)call->buffer[1], (float *)call->buffer[2], (int)m, (int)n,
        (int)k, (int)tiles_m, (int)tiles_n);
    return RIDGE_LAUNCHED(call);
}

#endif

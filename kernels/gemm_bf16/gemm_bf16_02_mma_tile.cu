/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_bf16/gemm_store.cuh"
#include "kernels/ptx/mma.cuh"
#include "kernels/ptx/shared.cuh"
#include "kernels/ptx/wgmma.cuh"
#include "kernels/support/launch.cuh"

/* A block computes 128 x 128 of D; each of its eight warps 64 x 32. The depth of a tile is a row of 128 bytes. */
enum { TILE = 128, DEPTH = 64, THREADS = 256, WARP_ROWS = 64, WARP_COLUMNS = 32 };

/* Eight elements of a row, zeros outside the matrix. */
static __device__ __forceinline__ uint4 load_chunk(const bf16 *x, int64_t row, int64_t rows, int64_t i, int64_t k)
{
    union {
        uint4 chunk;
        uint16_t element[8];
    } read = {};
    if (row >= rows)
        return read.chunk;
    if (k % 8 == 0)
        return i < k ? *(const uint4 *)(x + row * k + i) : read.chunk;
#pragma unroll
    for (int e = 0; e < 8; e++)
        if (i + e < k)
            read.element[e] = ((const uint16_t *)x)[row * k + i + e];
    return read.chunk;
}

enum { CHUNKS = TILE * DEPTH / 8 / THREADS }; /* of a tile, a thread */

/* All loads before the first store, which the compiler may not move loads over. */
static __device__ __forceinline__ void copy_tile(uint32_t tile, const bf16 *x, int64_t row0, int64_t rows, int64_t k0,
                                                 int64_t k)
{
    uint4 chunk[CHUNKS];
#pragma unroll
    for (int i = 0; i < CHUNKS; i++) {
        const int place = i * THREADS + threadIdx.x;
        chunk[i] = load_chunk(x, row0 + place / 8, rows, k0 + place % 8 * 8, k);
    }
#pragma unroll
    for (int i = 0; i < CHUNKS; i++) {
        const int place = i * THREADS + threadIdx.x;
        st_shared_v4(tile + swizzle_128(place / 8, place % 8 * 16), chunk[i]);
    }
}

/* The 16 elements of depth from `slice` on: A in four fragments of 16 rows, B in two pairs of 8. */
static __device__ __forceinline__ void multiply_slice(float (&sum)[4][4][4], uint32_t tile_a, uint32_t tile_b,
                                                      int slice)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int row_a = warp / 4 * WARP_ROWS + lane % 16, row_b = warp % 4 * WARP_COLUMNS + lane / 16 * 8 + lane % 8;
    uint32_t a[4][4], b[2][4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        ldmatrix_x4(a[i], tile_a + swizzle_128(row_a + 16 * i, slice * 2 + lane / 16 * 16));
#pragma unroll
    for (int j = 0; j < 2; j++)
        ldmatrix_x4(b[j], tile_b + swizzle_128(row_b + 16 * j, slice * 2 + lane / 8 % 2 * 16));
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            mma_bf16(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
}

template <bool even>
static __device__ __forceinline__ void store_tile(const gemm_output &out, int64_t row0, int64_t column0,
                                                  const float (&sum)[4][4][4])
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int64_t row = row0 + warp / 4 * WARP_ROWS + lane / 4,
                  column = column0 + warp % 4 * WARP_COLUMNS + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
            for (int h = 0; h < 2; h++)
                gemm_store_pair<even>(out, row + 16 * i + 8 * h, column + 8 * j, sum[i][j][2 * h],
                                      sum[i][j][2 * h + 1]);
}

static __global__ void __launch_bounds__(THREADS, 2)
    gemm_bf16_mma_tile(const bf16 *__restrict__ a, const bf16 *__restrict__ b, gemm_output out, int64_t k,
                       int64_t blocks_n)
{
    __shared__ __align__(1024) bf16 tiles[2][TILE * DEPTH];
    const uint32_t tile_a = shared_address(tiles[0]), tile_b = shared_address(tiles[1]);
    const int64_t row0 = blockIdx.x / blocks_n * TILE, column0 = blockIdx.x % blocks_n * TILE;
    float sum[4][4][4] = {};

    for (int64_t k0 = 0; k0 < k; k0 += DEPTH) {
        copy_tile(tile_a, a, row0, out.m, k0, k);
        copy_tile(tile_b, b, column0, out.n, k0, k);
        __syncthreads();
#pragma unroll
        for (int slice = 0; slice < DEPTH; slice += 16)
            multiply_slice(sum, tile_a, tile_b, slice);
        __syncthreads();
    }
    if (out.n % 2 == 0)
        store_tile<true>(out, row0, column0, sum);
    else
        store_tile<false>(out, row0, column0, sum);
}

static int launch(const struct ridge_call *call)
{
    const int64_t m = call->dim[0], n = call->dim[1], k = call->dim[2];
    const int64_t blocks_m = ridge_ceil_div(m, TILE), blocks_n = ridge_ceil_div(n, TILE);
    gemm_bf16_mma_tile<<<(unsigned)(blocks_m * blocks_n), THREADS, 0, ridge_stream(call)>>>(
        (const bf16 *)call->buffer[0], (const bf16 *)call->buffer[1], gemm_output{(bf16 *)call->buffer[2], m, n}, k,
        blocks_n);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_gemm_bf16_02_mma_tile = {
    .idea = "128 x 128 tile through swizzled shared memory, mma.sync m16n8k16 on ldmatrix fragments",
    .source = "PTX ISA 9.0, 9.7.14.5",
    .changes = "tensor cores; an element loaded into shared memory is used 128 times",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .launch = launch,
    .kernel = (const void *)gemm_bf16_mma_tile,
};

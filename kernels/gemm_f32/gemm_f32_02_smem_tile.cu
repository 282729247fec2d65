/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/support/launch.cuh"

#define TILE 32

static __global__ void __launch_bounds__(TILE *TILE)
    gemm_f32_smem_tile(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ d, int64_t m,
                       int64_t n, int64_t k, int64_t tiles_n)
{
    /* A warp reads one row of A and 32 rows of B at one k: the padding puts those rows in 32 banks. */
    __shared__ float tile_a[TILE][TILE + 1], tile_b[TILE][TILE + 1];
    const int x = threadIdx.x, y = threadIdx.y;
    const int64_t row = blockIdx.x / tiles_n * TILE + y;
    const int64_t column0 = blockIdx.x % tiles_n * TILE;
    const float *a_row = a + row * k + x, *b_row = b + (column0 + y) * k + x;
    const bool row_inside = row < m, column_inside = column0 + y < n;
    float sum = 0;

    for (int64_t k0 = 0; k0 < k; k0 += TILE) {
        const bool inside = k0 + x < k;
        tile_a[y][x] = inside && row_inside ? a_row[k0] : 0;
        tile_b[y][x] = inside && column_inside ? b_row[k0] : 0;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; i++)
            sum += tile_a[y][i] * tile_b[x][i];
        __syncthreads();
    }
    if (row_inside && column0 + x < n)
        d[row * n + column0 + x] = sum;
}

/* Shared memory delivers 128 bytes a clock whether or not lanes share a word, so each of the two reads of a warp's
 * FMA counts 128 bytes. */
static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    (void)device;
    const double tiles = (double)(ridge_ceil_div(dim[0], TILE) * ridge_ceil_div(dim[1], TILE));
    const double k = (double)ridge_ceil_div(dim[2], TILE) * TILE;
    const double fma = tiles * TILE * TILE * k;
    work->flop_fp32 = 2 * fma;
    work->bytes_l2 = tiles * 2 * TILE * (double)dim[2] * sizeof(float);
    work->bytes_smem = fma / 32 * 256;
    work->tiles = tiles;
}

static int launch(const struct ridge_call *call)
{
    const int64_t m = call->dim[0], n = call->dim[1], k = call->dim[2];
    const int64_t tiles_m = ridge_ceil_div(m, TILE), tiles_n = ridge_ceil_div(n, TILE);
    gemm_f32_smem_tile<<<(unsigned)(tiles_m * tiles_n), dim3(TILE, TILE), 0, ridge_stream(call)>>>(
        (const float *)call->buffer[0], (const float *)call->buffer[1], (float *)call->buffer[2], m, n, k, tiles_n);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_gemm_f32_02_smem_tile = {
    .idea = "32x32 tiles of A and B in shared memory, one thread an output",
    .source = "CUDA C++ Programming Guide, Shared Memory, matrix multiplication example",
    .changes = "each operand word is fetched once for 32 outputs, coalesced",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .issued = issued,
    .launch = launch,
    .kernel = (const void *)gemm_f32_smem_tile,
};

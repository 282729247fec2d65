/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_f32/gemm_f32_tile.cuh"
#include "kernels/ptx/cp_async.cuh"

enum {
    THREADS = 128,
    TILE_K = 16,
    PITCH = TILE_K + 4, /* 5 16-byte words: 8 rows at one k are 8 different words of 128 bytes */
    STAGES = 3,
    CHUNKS = TILE_M * TILE_K / 4 / THREADS, /* 16-byte pieces of one operand a thread copies */
    CHUNK_ROWS = TILE_M / CHUNKS,
};

/* Both operands as they lie in global memory: [row][k]. */
struct stage {
    float a[TILE_M][PITCH], b[TILE_N][PITCH];
};

/* Four k's into shared memory, zeros beyond k_left. */
template <bool vector> static __device__ __forceinline__ void copy_four(float *smem, const float *src, int k_left)
{
    if (vector) {
        cp_async_16(smem, src, k_left > 0 ? 16 : 0);
    } else {
#pragma unroll
        for (int i = 0; i < 4; i++)
            cp_async_4(smem + i, src + i, k_left > i ? 4 : 0);
    }
}

/* This thread's rows of one operand, CHUNK_ROWS apart; `rows` of them, from the first, are inside the operand. */
template <bool vector>
static __device__ __forceinline__ void copy_operand(float *smem, const float *src, int rows, int k, int k_left)
{
#pragma unroll
    for (int i = 0; i < CHUNKS; i++) {
        copy_four<vector>(smem + i * CHUNK_ROWS * PITCH, src, i * CHUNK_ROWS < rows ? k_left : 0);
        src += (int64_t)CHUNK_ROWS * k;
    }
}

/* 8 rows of A against 16 of B over four k's. */
static __device__ __forceinline__ void multiply_four(const float *a, const float *b, float (&sum)[8][16])
{
    float4 row[8];
#pragma unroll
    for (int r = 0; r < 8; r++)
        row[r] = *(const float4 *)(a + r * 8 * PITCH);
#pragma unroll
    for (int c = 0; c < 16; c++) {
        const float4 column = *(const float4 *)(b + (c / 4 * 16 + c % 4) * PITCH);
#pragma unroll
        for (int r = 0; r < 8; r++)
            sum[r][c] += row[r].x * column.x;
#pragma unroll
        for (int r = 0; r < 8; r++)
            sum[r][c] += row[r].y * column.y;
#pragma unroll
        for (int r = 0; r < 8; r++)
            sum[r][c] += row[r].z * column.z;
#pragma unroll
        for (int r = 0; r < 8; r++)
            sum[r][c] += row[r].w * column.w;
    }
}

/* Warps 2 x 2, each 64 x 64 outputs; a thread has rows r * 8 and four times four neighbouring columns, 16 apart.
 * vector: k % 4 == 0. */
template <bool vector>
static __global__ void __launch_bounds__(THREADS, 2)
    gemm_f32_async_copy(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ d, int m, int n,
                        int k, int tiles_m, int tiles_n)
{
    extern __shared__ __align__(16) unsigned char smem[];
    stage *stages = (stage *)smem;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int row0, column0;
    tile_origin(tiles_m, tiles_n, &row0, &column0);

    const int copy_row = threadIdx.x / 4, copy_k = threadIdx.x % 4 * 4;
    const float *a_next = a + (int64_t)(row0 + copy_row) * k + copy_k;
    const float *b_next = b + (int64_t)(column0 + copy_row) * k + copy_k;
    int k_left = k - copy_k;
    const int thread_row = warp / 2 * 64 + lane_row(lane), thread_column = warp % 2 * 64 + lane_column(lane) * 4;
    float sum[8][16] = {};

    int filling = 0, reading = 0;
    for (int k0 = -(STAGES - 1) * TILE_K; k0 < k; k0 += TILE_K) {
        if (k0 >= 0) {
            cp_async_wait<STAGES - 2>();
            __syncthreads();
        }
        if (k0 + (STAGES - 1) * TILE_K < k) {
            copy_operand<vector>(&stages[filling].a[copy_row][copy_k], a_next, m - row0 - copy_row, k, k_left);
            copy_operand<vector>(&stages[filling].b[copy_row][copy_k], b_next, n - column0 - copy_row, k, k_left);
            a_next += TILE_K;
            b_next += TILE_K;
            k_left -= TILE_K;
            filling = filling + 1 == STAGES ? 0 : filling + 1;
        }
        cp_async_commit();
        if (k0 >= 0) {
            const float *tile_a = stages[reading].a[thread_row], *tile_b = stages[reading].b[thread_column];
#pragma unroll
            for (int i = 0; i < TILE_K; i += 4)
                multiply_four(tile_a + i, tile_b + i, sum);
            reading = reading + 1 == STAGES ? 0 : reading + 1;
        }
    }

#pragma unroll
    for (int r = 0; r < 8; r++)
#pragma unroll
        for (int c = 0; c < 16; c += 4)
            store_four(d, row0 + thread_row + r * 8, column0 + thread_column + c * 4, m, n,
                       make_float4(sum[r][c], sum[r][c + 1], sum[r][c + 2], sum[r][c + 3]));
}

static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    (void)device;
    tile_work(dim, TILE_K, 8, 16, work);
}

static tile_kernel kernel_for(const int64_t *dim)
{
    return dim[2] % 4 == 0 ? gemm_f32_async_copy<true> : gemm_f32_async_copy<false>;
}

static int setup(struct ridge_call *call, void **state)
{
    (void)state;
    RIDGE_CUDA(call, cudaFuncSetAttribute(kernel_for(call->dim), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          (int)(STAGES * sizeof(stage))));
    return 0;
}

static int launch(const struct ridge_call *call)
{
    return tile_launch(call, kernel_for(call->dim), THREADS, STAGES * sizeof(stage));
}

extern "C" const struct ridge_variant ridge_variant_gemm_f32_04_async_copy = {
    .idea = "128x128 tile, 8x16 outputs a thread, cp.async through three stages, operands kept as they lie",
    .source = "PTX ISA, cp.async",
    .changes =
        "copies need no registers and no transposition, so that a thread has room for 8x16: 24 words feed 128 FMA",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .issued = issued,
    .setup = setup,
    .launch = launch,
    .kernel = (const void *)gemm_f32_async_copy<true>,
};

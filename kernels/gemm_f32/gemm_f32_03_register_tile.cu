/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_f32/gemm_f32_tile.cuh"

typedef tile_shape<128, 128, 8, 8, 8> tile;

enum {
    TILE_K = tile::k,
    PITCH = tile::m + 4, /* 4 k's apart is 16 banks apart: the transposing stores of a warp hit 32 banks */
};

/* Both operands transposed: [k][row], so that a thread reads its 8 rows of one k as two 16-byte words. */
struct stage {
    float a[TILE_K][PITCH], b[TILE_K][PITCH];
};

/* Four k's of one row, zero outside. */
template <bool vector>
static __device__ __forceinline__ float4 load_four(const float *row, bool inside, int k, int k_end)
{
    float4 value = {0, 0, 0, 0};
    if (vector) {
        if (inside && k < k_end)
            value = *(const float4 *)(row + k);
    } else if (inside) {
        value.x = k < k_end ? row[k] : 0;
        value.y = k + 1 < k_end ? row[k + 1] : 0;
        value.z = k + 2 < k_end ? row[k + 2] : 0;
        value.w = k + 3 < k_end ? row[k + 3] : 0;
    }
    return value;
}

static __device__ __forceinline__ void store_transposed(float (*to)[PITCH], int row, int k, float4 value)
{
    to[k][row] = value.x;
    to[k + 1][row] = value.y;
    to[k + 2][row] = value.z;
    to[k + 3][row] = value.w;
}

/* Rows base..base+3 and base+apart..base+apart+3 of one k. */
static __device__ __forceinline__ void read_eight(const float *row, int base, int apart, float *value)
{
    *(float4 *)value = *(const float4 *)(row + base);
    *(float4 *)(value + 4) = *(const float4 *)(row + base + apart);
}

/* Warps 2 x 4, each 64 x 32 outputs, each thread two by two pieces of 4 x 4. vector: k % 4 == 0. */
template <bool vector>
static __global__ void __launch_bounds__(tile::threads, vector ? 2 : 1)
    gemm_f32_register_tile(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ d, int m,
                           int n, int k, int tiles_m, int tiles_n)
{
    __shared__ __align__(16) stage stages[2];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int row0, column0;
    tile_origin<tile>(tiles_m, tiles_n, &row0, &column0);

    const int load_row = threadIdx.x / 2, load_k = threadIdx.x % 2 * 4;
    const bool a_inside = row0 + load_row < m, b_inside = column0 + load_row < n;
    const float *a_row = a + (int64_t)(row0 + load_row) * k, *b_row = b + (int64_t)(column0 + load_row) * k;
    const int thread_row = warp / 4 * 64 + lane_row(lane) * 4, thread_column = warp % 4 * 32 + lane_column(lane) * 4;
    float sum[8][8] = {};

    float4 next_a = load_four<vector>(a_row, a_inside, load_k, k);
    float4 next_b = load_four<vector>(b_row, b_inside, load_k, k);
    store_transposed(stages[0].a, load_row, load_k, next_a);
    store_transposed(stages[0].b, load_row, load_k, next_b);
    __syncthreads();

    float row_values[2][8], column_values[2][8];
    read_eight(stages[0].a[0], thread_row, 32, row_values[0]);
    read_eight(stages[0].b[0], thread_column, 16, column_values[0]);
    int current = 0;
    for (int k0 = TILE_K; k0 < k + TILE_K; k0 += TILE_K) {
        next_a = load_four<vector>(a_row, a_inside, k0 + load_k, k);
        next_b = load_four<vector>(b_row, b_inside, k0 + load_k, k);
#pragma unroll
        for (int i = 0; i < TILE_K; i++) {
            if (i == TILE_K - 1) {
                stage *next = &stages[current ^ 1];
                store_transposed(next->a, load_row, load_k, next_a);
                store_transposed(next->b, load_row, load_k, next_b);
                __syncthreads();
                current ^= 1;
            }
            const int ahead = (i + 1) % TILE_K;
            read_eight(stages[current].a[ahead], thread_row, 32, row_values[ahead & 1]);
            read_eight(stages[current].b[ahead], thread_column, 16, column_values[ahead & 1]);
#pragma unroll
            for (int r = 0; r < 8; r++)
#pragma unroll
                for (int c = 0; c < 8; c++)
                    sum[r][c] += row_values[i & 1][r] * column_values[i & 1][c];
        }
    }

#pragma unroll
    for (int r = 0; r < 8; r++)
#pragma unroll
        for (int c = 0; c < 8; c += 4)
            store_four(d, row0 + thread_row + r / 4 * 32 + r % 4, column0 + thread_column + c / 4 * 16, m, n,
                       make_float4(sum[r][c], sum[r][c + 1], sum[r][c + 2], sum[r][c + 3]));
}

static int launch(const struct ridge_call *call)
{
    const bool vector = call->dim[2] % 4 == 0;
    return tile_launch<tile>(call, vector ? gemm_f32_register_tile<true> : gemm_f32_register_tile<false>, 0);
}

extern "C" const struct ridge_variant ridge_variant_gemm_f32_03_register_tile = {
    .idea = "128x128 tile, 8x8 outputs a thread, 16-byte loads, two stages of shared memory",
    .source = "S. Gray, maxas wiki, SGEMM (lane layout, double buffering)",
    .changes = "16 words from shared memory feed 64 FMA instead of 2 feeding one; loads of the next tile overlap",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .issued = tile_work<tile>,
    .launch = launch,
    .kernel = (const void *)gemm_f32_register_tile<true>,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_f32/gemm_f32_tile.cuh"
#include "kernels/ptx/cp_async.cuh"

typedef tile_shape<128, 256, 8, 8, 16> tile;

typedef transposed_stage<tile> stage;

enum {
    STAGES = 4,
    STAGE = (int)(sizeof(stage) / sizeof(float)),
    BACK = -(STAGES - 1) * STAGE,    /* from the last stage to the first */
    APART = tile::threads / tile::k, /* rows of an operand that the block copies at once, a word a thread */
    A_PIECES = tile::m / APART,
    B_PIECES = tile::n / APART,
    PIECES = A_PIECES + B_PIECES,
    STEP_PIECES = (PIECES + tile::k - 2) / (tile::k - 1), /* all but the last step of a tile copy */
};

/* A thread's words of one operand: one k of every APART-th row. */
template <int pieces> struct copier {
    const float *from;  /* first row of the block, k of the thread in the next tile */
    int offset[pieces]; /* of the thread's rows from there: below 2^28, for k is at most 2^20 */
    float *to;

    /* Rows past the last are the last again: their outputs are not stored. */
    __device__ __forceinline__ void start(const float *operand, int row0, int row_end, int k, float *smem)
    {
        from = operand + (int64_t)row0 * k + threadIdx.x % tile::k;
        to = smem;
#pragma unroll
        for (int i = 0; i < pieces; i++)
            offset[i] = min((int)threadIdx.x / tile::k + i * APART, row_end - 1 - row0) * k;
    }

    __device__ __forceinline__ void copy(int i, int valid_bytes) const
    {
        cp_async_4(to + i * APART, from + offset[i], valid_bytes);
    }

    __device__ __forceinline__ void advance(int k, int stage_step)
    {
        from += k;
        to += stage_step;
    }
};

static __global__ void __launch_bounds__(tile::threads, 1)
    gemm_f32_async_copy(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ d, int m, int n,
                        int k, int tiles_m, int tiles_n)
{
    extern __shared__ __align__(16) unsigned char smem[];
    stage *stages = (stage *)smem;
    int row0, column0;
    tile_origin<tile>(tiles_m, tiles_n, &row0, &column0);

    /* A warp copies 8 k's of 4 rows: at a pitch of 4 words modulo 32 these are 32 banks. */
    const int copy_k = threadIdx.x % tile::k, copy_row = threadIdx.x / tile::k;
    copier<A_PIECES> copy_a;
    copier<B_PIECES> copy_b;
    copy_a.start(a, row0, m, k, &stages[0].a[copy_k][copy_row]);
    copy_b.start(b, column0, n, k, &stages[0].b[copy_k][copy_row ^ 1]);
    auto copy = [&](int piece, int valid_bytes) {
        if (piece < A_PIECES)
            copy_a.copy(piece, valid_bytes);
        else
            copy_b.copy(piece - A_PIECES, valid_bytes);
    };

    const int tiles_k = (k + tile::k - 1) / tile::k, first_k = odd_k<tile>(k);
#pragma unroll
    for (int t = 0; t < STAGES - 1; t++) {
        const int k_in_tile = t == 0 ? first_k : tile::k;
        if (t < tiles_k) {
#pragma unroll
            for (int i = 0; i < PIECES; i++)
                copy(i, copy_k < k_in_tile ? 4 : 0);
        }
        cp_async_commit();
        copy_a.advance(k_in_tile, STAGE);
        copy_b.advance(k_in_tile, STAGE);
    }
    cp_async_wait<STAGES - 2>();
    __syncthreads();

    const float *tile_a = &stages[0].a[0][thread_row<tile>()], *tile_b = &stages[0].b[0][thread_column<tile>()];
    float row[2][tile::rows], column[2][tile::columns], sum[tile::rows][tile::columns] = {};
    read_operands<tile>(tile_a, tile_b, 0, row[0], column[0]);
#pragma unroll 1
    for (int t = 0; t < tiles_k; t++) {
        const bool more = t + STAGES - 1 < tiles_k;
#pragma unroll
        for (int i = 0; i < tile::k; i++) {
#pragma unroll
            for (int piece = i * STEP_PIECES; piece < PIECES && piece < (i + 1) * STEP_PIECES; piece++)
                if (more)
                    copy(piece, 4);
            if (i == tile::k - 1) {
                cp_async_commit();
                cp_async_wait<STAGES - 2>();
                __syncthreads();
                const int fill_step = t % STAGES == 0 ? BACK : STAGE,
                          read_step = t % STAGES == STAGES - 1 ? BACK : STAGE;
                copy_a.advance(tile::k, fill_step);
                copy_b.advance(tile::k, fill_step);
                tile_a += read_step;
                tile_b += read_step;
            }
            const int ahead = (i + 1) % tile::k;
            read_operands<tile>(tile_a, tile_b, ahead, row[ahead % 2], column[ahead % 2]);
            multiply<tile>(row[i % 2], column[i % 2], sum);
        }
    }
    store_outputs<tile>(d, row0 + thread_row<tile>(), column0 + thread_column<tile>(), m, n, sum);
}

static int setup(struct ridge_call *call, void **state)
{
    (void)state;
    RIDGE_CUDA(call, cudaFuncSetAttribute(gemm_f32_async_copy, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          (int)(STAGES * sizeof(stage))));
    return 0;
}

static int launch(const struct ridge_call *call)
{
    return tile_launch<tile>(call, gemm_f32_async_copy, STAGES * sizeof(stage));
}

extern "C" const struct ridge_variant ridge_variant_gemm_f32_04_async_copy = {
    .idea = "128x256 tile, 8x16 outputs a thread, four stages of word-wide cp.async, no register bank conflicts",
    .source = "PTX ISA, cp.async; register banks: Jia et al., arXiv:1804.06826",
    .changes = "neighbouring columns of B exchanged: no FFMA waits for a register bank; 24 words feed 128 FMA; copies "
               "transpose without registers",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .issued = tile_work<tile>,
    .setup = setup,
    .launch = launch,
    .kernel = (const void *)gemm_f32_async_copy,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles of 128 of k x 128 columns of X. A thread loads 16 bytes of four rows and turns them into a word of four k for
 * each of its 16 columns. In shared memory a column is a row of 32 words, in groups of four exchanged by the number of
 * its 16 columns: the stores of a warp (4 words of 8 columns 16 apart) and its loads (four rows) then meet no bank
 * twice.
 */
#ifndef RIDGE_TRANSPOSE_E4M3_TILE_CUH
#define RIDGE_TRANSPOSE_E4M3_TILE_CUH

#include "kernels/gemm_grouped_k/gemm_grouped_k_place.cuh"
#include "kernels/ptx/global.cuh"
#include "kernels/support/launch.cuh"
#include "kernels/transpose_e4m3/transpose_e4m3.h"

#define TRANSPOSE_SIDE 128
#define TRANSPOSE_THREADS 256

/* Bytes j of four words become the word of column j. */
static __device__ __forceinline__ void transpose_4x4(uint32_t (&column)[4], uint32_t r0, uint32_t r1, uint32_t r2,
                                                     uint32_t r3)
{
    const uint32_t low01 = __byte_perm(r0, r1, 0x5140), low23 = __byte_perm(r2, r3, 0x5140);
    const uint32_t high01 = __byte_perm(r0, r1, 0x7362), high23 = __byte_perm(r2, r3, 0x7362);
    column[0] = __byte_perm(low01, low23, 0x5410);
    column[1] = __byte_perm(low01, low23, 0x7632);
    column[2] = __byte_perm(high01, high23, 0x5410);
    column[3] = __byte_perm(high01, high23, 0x7632);
}

static __host__ __device__ __forceinline__ int transpose_word(int column, int word)
{
    return column * 32 + (word ^ column / 16 % 8 * 4);
}

/* 16 columns from `column` on, k 4 `word` to 4 `word` + 3. */
static __device__ __forceinline__ void transpose_put(uint32_t *tile, int column, int word, const uint4 (&rows)[4])
{
    const uint32_t *r[4] = {&rows[0].x, &rows[1].x, &rows[2].x, &rows[3].x};
#pragma unroll
    for (int quad = 0; quad < 4; quad++) {
        uint32_t of_column[4];
        transpose_4x4(of_column, r[0][quad], r[1][quad], r[2][quad], r[3][quad]);
#pragma unroll
        for (int j = 0; j < 4; j++)
            tile[transpose_word(column + 4 * quad + j, word)] = of_column[j];
    }
}

/* `across` tiles a CTA along m, which is a multiple of 16. */
template <int across>
static __global__ void __launch_bounds__(TRANSPOSE_THREADS, across == 1 ? 8 : 5)
    transpose_tile(const uint8_t *__restrict__ x, const int32_t *__restrict__ ks, uint8_t *__restrict__ y, int64_t m,
                   int64_t k, int groups, int columns)
{
    __shared__ __align__(16) uint32_t tile[across][TRANSPOSE_SIDE * 32];
    const int64_t column0 = (int64_t)(blockIdx.x % columns) * across * TRANSPOSE_SIDE;
    const int64_t k0 = (int64_t)(blockIdx.x / columns) * TRANSPOSE_SIDE;
    const int part = threadIdx.x % 8, quad = threadIdx.x / 8; /* 16 bytes of a row; four rows */
    uint4 rows[across][4] = {};
#pragma unroll
    for (int t = 0; t < across; t++) {
        const int64_t column = column0 + t * TRANSPOSE_SIDE + 16 * part;
#pragma unroll
        for (int r = 0; r < 4; r++)
            if (column < m)
                rows[t][r] = ld_global_stream_v4(x + (k0 + 4 * quad + r) * m + column);
    }
    const grouped_k_place place = grouped_k_place_of(ks, groups, k0, k);
#pragma unroll
    for (int t = 0; t < across; t++)
        transpose_put(tile[t], 16 * part, quad, rows[t]);
    __syncthreads();
    if (place.k == 0)
        return;
    uint8_t *out = y + m * place.first + k0 - place.first + 16 * part;
#pragma unroll
    for (int t = 0; t < across; t++)
#pragma unroll
        for (int r = 0; r < 4; r++) {
            const int column = quad + 32 * r;
            const int64_t row = column0 + t * TRANSPOSE_SIDE + column;
            if (row < m)
                st_global_v4(out + row * place.k, *(const uint4 *)&tile[t][transpose_word(column, 4 * part)]);
        }
}

static inline const char *transpose_unsupported(const int64_t *dim, const struct ridge_device *)
{
    return dim[TRANSPOSE_M] % 16 ? "m is not a multiple of 16: rows of X are read 16 bytes at a time" : NULL;
}

template <int across> static int transpose_launch(const struct ridge_call *call)
{
    const int64_t m = call->dim[TRANSPOSE_M], k = call->dim[TRANSPOSE_K];
    const int64_t columns = ridge_ceil_div(m, across * TRANSPOSE_SIDE);
    transpose_tile<across><<<(unsigned)(k / TRANSPOSE_SIDE * columns), TRANSPOSE_THREADS, 0, ridge_stream(call)>>>(
        (const uint8_t *)call->buffer[TRANSPOSE_X], (const int32_t *)call->buffer[TRANSPOSE_KS],
        (uint8_t *)call->buffer[TRANSPOSE_Y], m, k, (int)call->dim[TRANSPOSE_GROUPS], (int)columns);
    return RIDGE_LAUNCHED(call);
}

#endif

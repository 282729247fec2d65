/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of 05 and 06: a register that holds words of the next tile is loaded again, for the tile after, right
 * after its store, so that a load has a whole tile's time. A load that is written at the top of the tile does not have
 * that: the compiler moves it down towards the store. It can not move one over the loop's back edge. */
#ifndef RIDGE_GEMM_F32_EARLY_CUH
#define RIDGE_GEMM_F32_EARLY_CUH

#include "kernels/gemm_f32/gemm_f32_tile.cuh"

/* One operand's way to shared memory. Two threads a row, four k's each; a thread's rows lie threads / 2 apart. vector:
 * k % 4 == 0. */
template <int rows, int threads, bool vector> struct early_operand {
    static constexpr int APART = threads / 2, PIECES = rows / APART, PITCH = rows + 4;
    const float *next[PIECES]; /* of the tile to load */
    float4 value[PIECES];

    /* Rows past the last are the last again: their outputs are not stored. */
    __device__ __forceinline__ void start(const float *operand, int row0, int row_end, int k, int first_k)
    {
        const int at = threadIdx.x % 2 * 4;
#pragma unroll
        for (int i = 0; i < PIECES; i++) {
            const int row = min(row0 + (int)threadIdx.x / 2 + i * APART, row_end - 1);
            const float *x = operand + (int64_t)row * k + at;
            value[i] = make_float4(0, 0, 0, 0);
            if (vector) {
                if (at < first_k)
                    value[i] = *(const float4 *)x;
            } else {
                value[i].x = at < first_k ? x[0] : 0;
                value[i].y = at + 1 < first_k ? x[1] : 0;
                value[i].z = at + 2 < first_k ? x[2] : 0;
                value[i].w = at + 3 < first_k ? x[3] : 0;
            }
            next[i] = x + first_k;
        }
    }

    __device__ __forceinline__ void load(int i)
    {
        const float *x = next[i];
        value[i] = vector ? *(const float4 *)x : make_float4(x[0], x[1], x[2], x[3]);
    }

    /* Four k's a pitch of 4 modulo 32 apart: the stores of a warp hit 32 banks. */
    __device__ __forceinline__ void store(float *to, int i) const
    {
        float *column = to + i * APART;
        column[0] = value[i].x;
        column[PITCH] = value[i].y;
        column[2 * PITCH] = value[i].z;
        column[3 * PITCH] = value[i].w;
    }

    __device__ __forceinline__ void advance(int k)
    {
#pragma unroll
        for (int i = 0; i < PIECES; i++)
            next[i] += k;
    }
};

/* One tile from the stage that a and b point into; row[0] and column[0] hold its first k. before(i) precedes step i,
 * and the last step reads k 0 of wherever a and b then point. */
template <class T, bool last, class step>
static __device__ __forceinline__ void multiply_tile(const float *&a, const float *&b, float (&row)[2][T::rows],
                                                     float (&column)[2][T::columns], float (&sum)[T::rows][T::columns],
                                                     step before)
{
#pragma unroll
    for (int i = 0; i < T::k; i++) {
        before(i);
        const int ahead = (i + 1) % T::k;
        if (!last || ahead)
            read_operands<T>(a, b, ahead, row[ahead % 2], column[ahead % 2]);
        multiply<T>(row[i % 2], column[i % 2], sum);
    }
}

template <class T, int min_blocks, bool vector>
static __global__ void __launch_bounds__(T::threads, min_blocks)
    gemm_f32_early_load(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ d, int m, int n,
                        int k, int tiles_m, int tiles_n)
{
    __shared__ __align__(16) transposed_stage<T> stages[2];
    early_operand<T::m, T::threads, vector> from_a;
    early_operand<T::n, T::threads, vector> from_b;
    const int tiles_k = (k + T::k - 1) / T::k, first_k = odd_k<T>(k);
    int row0, column0;
    tile_origin<T>(tiles_m, tiles_n, &row0, &column0);

    from_a.start(a, row0, m, k, first_k);
    from_b.start(b, column0, n, k, first_k);
    const int store_k = threadIdx.x % 2 * 4, store_row = threadIdx.x / 2;
    float *to_a = &stages[0].a[store_k][store_row], *to_b = &stages[0].b[store_k][store_row ^ 1];
    auto store_and_load = [&](int piece, bool load) {
        if (piece < from_a.PIECES) {
            from_a.store(to_a, piece);
            if (load)
                from_a.load(piece);
        } else {
            from_b.store(to_b, piece - from_a.PIECES);
            if (load)
                from_b.load(piece - from_a.PIECES);
        }
    };
    const int pieces = from_a.PIECES + from_b.PIECES;
#pragma unroll
    for (int i = 0; i < pieces; i++)
        store_and_load(i, tiles_k > 1);
    __syncthreads();

    const float *tile_a = &stages[0].a[0][thread_row<T>()], *tile_b = &stages[0].b[0][thread_column<T>()];
    int to_other = sizeof *stages / sizeof(float);
    to_a += to_other;
    to_b += to_other;
    float row[2][T::rows], column[2][T::columns], sum[T::rows][T::columns] = {};
    read_operands<T>(tile_a, tile_b, 0, row[0], column[0]);
#pragma unroll 1
    for (int left = tiles_k - 1; left > 0; left--) {
        from_a.advance(T::k);
        from_b.advance(T::k);
        multiply_tile<T, false>(tile_a, tile_b, row, column, sum, [&](int i) {
            const int piece = i - (T::k - 1 - pieces);
            if (piece >= 0 && piece < pieces)
                store_and_load(piece, left > 1);
            if (i == T::k - 1) {
                __syncthreads();
                tile_a += to_other;
                tile_b += to_other;
                to_other = -to_other;
                to_a += to_other;
                to_b += to_other;
            }
        });
    }
    multiply_tile<T, true>(tile_a, tile_b, row, column, sum, [](int) {});
    store_outputs<T>(d, row0 + thread_row<T>(), column0 + thread_column<T>(), m, n, sum);
}

template <class T, int min_blocks> static int early_launch(const struct ridge_call *call)
{
    return tile_launch<T>(
        call, call->dim[2] % 4 == 0 ? gemm_f32_early_load<T, min_blocks, true> : gemm_f32_early_load<T, 1, false>, 0);
}

#endif

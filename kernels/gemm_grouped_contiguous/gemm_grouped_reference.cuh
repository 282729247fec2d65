/* SPDX-License-Identifier: Apache-2.0 */
/* Reference of the grouped products, on the GPU: ref and mag as in gemm_fp8_reference.cuh, for rows of any groups in
 * any order. A block takes its 32 rows once for each group among them. */
#ifndef RIDGE_GEMM_GROUPED_REFERENCE_CUH
#define RIDGE_GEMM_GROUPED_REFERENCE_CUH

#include "kernels/gemm_grouped_contiguous/gemm_grouped.h"
#include "kernels/support/compensated.cuh"
#include "kernels/support/element.cuh"
#include "kernels/support/launch.cuh"

#define GROUPED_REFERENCE_TILE 32

struct grouped_operands {
    const e4m3 *a, *b;
    const float *scale_a, *scale_b;
    int64_t m, n, k; /* m: rows of D */
    int64_t pitch, blocks, blocks_n;
};

static inline struct grouped_operands grouped_operands_of(const struct ridge_call *call, int64_t m)
{
    const int64_t *dim = call->dim;
    return {(const e4m3 *)call->buffer[GROUPED_A],
            (const e4m3 *)call->buffer[GROUPED_B],
            (const float *)call->buffer[GROUPED_SCALE_A],
            (const float *)call->buffer[GROUPED_SCALE_B],
            m,
            dim[GROUPED_N],
            dim[GROUPED_K],
            gemm_fp8_block_pitch_a(dim[GROUPED_M]),
            gemm_fp8_block_count(dim[GROUPED_K]),
            gemm_fp8_block_count(dim[GROUPED_N])};
}

static __device__ __forceinline__ float grouped_a(const grouped_operands &x, int64_t row, int64_t scale_a, int64_t i)
{
    return (float)x.a[row * x.k + i] * x.scale_a[scale_a + i / 128 * x.pitch];
}

static __device__ __forceinline__ float grouped_b(const grouped_operands &x, int64_t group, int64_t column, int64_t i)
{
    return (float)x.b[(group * x.n + column) * x.k + i] *
           x.scale_b[(group * x.blocks_n + column / 128) * x.blocks + i / 128];
}

/* The sums of one group, which only rows of that group keep. */
static __device__ void grouped_reference_pass(const grouped_operands &x, int64_t row, int64_t column0, int64_t group,
                                              int64_t scale_a, bool mine, compensated &sum, float &absolute)
{
    constexpr int tile = GROUPED_REFERENCE_TILE;
    __shared__ float tile_a[tile][tile + 1], tile_b[tile][tile + 1];
    const int column_in = threadIdx.x, row_in = threadIdx.y;
    for (int64_t k0 = 0; k0 < x.k; k0 += tile) {
        const int64_t i = k0 + column_in;
        tile_a[row_in][column_in] = i < x.k && mine ? grouped_a(x, row, scale_a, i) : 0;
        tile_b[row_in][column_in] = i < x.k && column0 + row_in < x.n ? grouped_b(x, group, column0 + row_in, i) : 0;
        __syncthreads();
        for (int j = 0; j < tile; j++) {
            const float product = __fmul_rn(tile_a[row_in][j], tile_b[column_in][j]);
            sum.add(product);
            absolute += fabsf(product);
        }
        __syncthreads();
    }
}

/* rows: group(row), negative for none; scale_a(row), the index of its first scale; none(i), what element i of D holds
 * where there is no group. */
template <typename rows>
static __global__ void __launch_bounds__(GROUPED_REFERENCE_TILE *GROUPED_REFERENCE_TILE, 1)
    grouped_reference_kernel(grouped_operands x, rows of, float *__restrict__ ref, float *__restrict__ mag,
                             int64_t tiles_n)
{
    constexpr int tile = GROUPED_REFERENCE_TILE;
    __shared__ int64_t groups[tile];
    const int64_t row = blockIdx.x / tiles_n * tile + threadIdx.y, column0 = blockIdx.x % tiles_n * tile;
    const int64_t column = column0 + threadIdx.x, at = row * x.n + column;
    if (threadIdx.x == 0)
        groups[threadIdx.y] = row < x.m ? of.group(row) : -1;
    __syncthreads();
    const int64_t group = groups[threadIdx.y];
    compensated sum;
    float absolute = 0;
    for (int i = 0; i < tile; i++) {
        bool again = groups[i] < 0;
        for (int j = 0; j < i; j++)
            again = again || groups[j] == groups[i];
        if (again)
            continue;
        compensated pass;
        float pass_absolute = 0;
        const bool mine = group == groups[i];
        grouped_reference_pass(x, row, column0, groups[i], mine ? of.scale_a(row) : 0, mine, pass, pass_absolute);
        sum = mine ? pass : sum;
        absolute = mine ? pass_absolute : absolute;
    }
    if (row < x.m && column < x.n) {
        ref[at] = group < 0 ? of.none(at) : sum.value();
        mag[at] = absolute;
    }
}

template <typename rows>
static int grouped_reference_launch(const struct ridge_call *call, const grouped_operands &x, const rows &of,
                                    float *ref, float *mag)
{
    const int64_t tiles_m = ridge_ceil_div(x.m, GROUPED_REFERENCE_TILE);
    const int64_t tiles_n = ridge_ceil_div(x.n, GROUPED_REFERENCE_TILE);
    const dim3 block(GROUPED_REFERENCE_TILE, GROUPED_REFERENCE_TILE);
    grouped_reference_kernel<<<(unsigned)(tiles_m * tiles_n), block, 0, ridge_stream(call)>>>(x, of, ref, mag, tiles_n);
    return RIDGE_LAUNCHED(call);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The first step of the grouped ladders. */
#ifndef RIDGE_GEMM_GROUPED_NAIVE_CUH
#define RIDGE_GEMM_GROUPED_NAIVE_CUH

#include "kernels/gemm_grouped_contiguous/gemm_grouped.h"
#include "kernels/support/element.cuh"
#include "kernels/support/launch.cuh"

#define GROUPED_NAIVE_SIDE 16

struct gemm_grouped_naive_arguments {
    const e4m3 *a, *b;
    const float *scale_a, *scale_b;
    const int32_t *index;
    bf16 *d;
    int64_t groups, m, n, k;
    int64_t pitch, blocks, blocks_n; /* of scales */
};

static inline struct gemm_grouped_naive_arguments gemm_grouped_naive_of(const struct ridge_call *call)
{
    const int64_t *dim = call->dim;
    return {(const e4m3 *)call->buffer[GROUPED_A],
            (const e4m3 *)call->buffer[GROUPED_B],
            (const float *)call->buffer[GROUPED_SCALE_A],
            (const float *)call->buffer[GROUPED_SCALE_B],
            (const int32_t *)call->buffer[GROUPED_INDEX],
            (bf16 *)call->buffer[GROUPED_D],
            dim[GROUPED_GROUPS],
            dim[GROUPED_M],
            dim[GROUPED_N],
            dim[GROUPED_K],
            gemm_fp8_block_pitch_a(dim[GROUPED_M]),
            gemm_fp8_block_count(dim[GROUPED_K]),
            gemm_fp8_block_count(dim[GROUPED_N])};
}

/* scale_a: of the row's first block of k. */
static __device__ __forceinline__ float gemm_grouped_dot(const gemm_grouped_naive_arguments &x, int64_t row,
                                                         int64_t column, int64_t group, const float *scale_a)
{
    const e4m3 *a = x.a + row * x.k, *b = x.b + (group * x.n + column) * x.k;
    const float *scale_b = x.scale_b + (group * x.blocks_n + column / 128) * x.blocks;
    float total = 0;
    for (int64_t block = 0; block < x.blocks; block++) {
        const int64_t end = block * 128 + 128 < x.k ? block * 128 + 128 : x.k;
        float sum = 0;
        for (int64_t i = block * 128; i < end; i++)
            sum += (float)a[i] * (float)b[i];
        total += sum * (scale_a[block * x.pitch] * scale_b[block]);
    }
    return total;
}

static inline const char *gemm_grouped_too_slow(const int64_t *dim, const struct ridge_device *device)
{
    const int64_t dense[] = {dim[GROUPED_GROUPS] * dim[GROUPED_ROWS], dim[GROUPED_N], dim[GROUPED_K]};
    return ridge_too_slow(dense, device);
}

/* The products run on the FP32 units, not on the tensor cores. */
static inline void gemm_grouped_naive_issue(const int64_t *, const struct ridge_device *, struct ridge_work *work)
{
    work->flop_fp32 += work->flop_fp8;
    work->flop_fp8 = 0;
}

/* `rows` of D. */
static inline int gemm_grouped_naive_launch(const struct ridge_call *call, int64_t rows,
                                            void (*kernel)(gemm_grouped_naive_arguments, int64_t))
{
    const int64_t blocks_m = ridge_ceil_div(rows, GROUPED_NAIVE_SIDE);
    const int64_t blocks_n = ridge_ceil_div(call->dim[GROUPED_N], GROUPED_NAIVE_SIDE);
    kernel<<<(unsigned)(blocks_m * blocks_n), dim3(GROUPED_NAIVE_SIDE, GROUPED_NAIVE_SIDE), 0, ridge_stream(call)>>>(
        gemm_grouped_naive_of(call), blocks_n);
    return RIDGE_LAUNCHED(call);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIDGE_ROPE_LUT_GLOBAL_CUH
#define RIDGE_ROPE_LUT_GLOBAL_CUH

#include "kernels/rope/rope_lut.cuh"

/* The table in global memory, 8-byte aligned at least. */
template <int pairs>
static __global__ void __launch_bounds__(ROPE_LUT_THREADS)
    rope_lut_global(rope_piece<pairs> *x, const int *__restrict__ position, const float2 *__restrict__ table,
                    rope_shape shape)
{
    const auto row = [=](int at) { return table + (int64_t)at * shape.pieces * pairs; };
    rope_lut_token<pairs>(x, position, row, shape);
}

static int rope_lut_global_launch(const struct ridge_call *call)
{
    const rope_shape shape = rope_lut_shape(call->dim);
    const dim3 grid = rope_lut_grid(call->dim);
    const int *position = (const int *)call->buffer[1];
    const float2 *table = (const float2 *)call->buffer[2];
    if (rope_lut_pairs(call->dim) == 4)
        rope_lut_global<4><<<grid, ROPE_LUT_THREADS, 0, ridge_stream(call)>>>((rope_piece<4> *)call->buffer[0],
                                                                              position, table, shape);
    else
        rope_lut_global<1><<<grid, ROPE_LUT_THREADS, 0, ridge_stream(call)>>>((rope_piece<1> *)call->buffer[0],
                                                                              position, table, shape);
    return RIDGE_LAUNCHED(call);
}

#endif

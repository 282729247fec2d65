/* SPDX-License-Identifier: Apache-2.0 */
/* Rotation with a table of (cos, sin). A thread takes the same `pairs` neighbouring pairs of ROPE_LUT_HEADS heads of
 * one token: the table entries are read once and stay in registers, and all loads of x are under way before the first
 * position or table entry is needed. */
#ifndef RIDGE_ROPE_LUT_CUH
#define RIDGE_ROPE_LUT_CUH

#include "kernels/ptx/global.cuh"
#include "kernels/rope/rope_rotate.cuh"

enum { ROPE_LUT_THREADS = 256, ROPE_LUT_HEADS = 4 };

template <int pairs> struct __align__(4 * pairs) rope_piece
{
    uint32_t pair[pairs];
};

/* By inline PTX: a plain load is moved down to its use, past the branch on the position. */
static __device__ __forceinline__ rope_piece<4> rope_load(const rope_piece<4> *x)
{
    const uint4 v = ld_global_l2_v4(x);
    return {v.x, v.y, v.z, v.w};
}

static __device__ __forceinline__ rope_piece<1> rope_load(const rope_piece<1> *x)
{
    return *x;
}

struct rope_shape {
    int heads, pieces; /* pieces: of one head */
    int groups; /* threads along the heads; a thread's heads are `groups` apart, so that a warp's accesses join */
    int64_t positions;
};

/* blockIdx.x: token; blockIdx.y: part of it. `table` has the entries of one position, pieces * pairs, at
 * table(position)[i]. */
template <int pairs, typename row_of>
static __device__ __forceinline__ void rope_lut_token(rope_piece<pairs> *x, const int *position, row_of table,
                                                      rope_shape shape)
{
    const int64_t token = blockIdx.x;
    const unsigned thread = blockIdx.y * ROPE_LUT_THREADS + threadIdx.x;
    const int piece = (int)(thread % (unsigned)shape.pieces), group = (int)(thread / (unsigned)shape.pieces);
    if (group >= shape.groups)
        return;
    const int at = position[token];
    const bool inside = rope_inside(at, shape.positions);
    rope_piece<pairs> *mine = x + (token * shape.heads + group) * shape.pieces + piece;
    const int64_t apart = (int64_t)shape.groups * shape.pieces;

    rope_piece<pairs> value[ROPE_LUT_HEADS];
#pragma unroll
    for (int i = 0; i < ROPE_LUT_HEADS; i++)
        if (group + i * shape.groups < shape.heads)
            value[i] = rope_load(mine + i * apart);
    const float2 *row = table(inside ? at : 0) + piece * pairs;
    float2 cos_sin[pairs];
#pragma unroll
    for (int p = 0; p < pairs; p++)
        cos_sin[p] = row[p];
#pragma unroll
    for (int i = 0; i < ROPE_LUT_HEADS; i++) {
#pragma unroll
        for (int p = 0; p < pairs; p++)
            value[i].pair[p] = rope_rotate(value[i].pair[p], cos_sin[p]);
        if (inside && group + i * shape.groups < shape.heads)
            mine[i * apart] = value[i];
    }
}

/* 4 pairs, 16 bytes, a piece where heads are whole 16-byte words; otherwise single pairs. */
static inline int rope_lut_pairs(const int64_t *dim)
{
    return dim[ROPE_DIM] % 8 == 0 ? 4 : 1;
}

static inline rope_shape rope_lut_shape(const int64_t *dim)
{
    rope_shape shape;
    shape.heads = (int)dim[ROPE_HEADS];
    shape.pieces = (int)(dim[ROPE_DIM] / 2 / rope_lut_pairs(dim));
    shape.groups = (int)ridge_ceil_div(shape.heads, ROPE_LUT_HEADS);
    shape.positions = dim[ROPE_POSITIONS];
    return shape;
}

static inline dim3 rope_lut_grid(const int64_t *dim)
{
    const rope_shape shape = rope_lut_shape(dim);
    const int64_t threads = (int64_t)shape.groups * shape.pieces;
    return dim3((unsigned)dim[ROPE_TOKENS], (unsigned)ridge_ceil_div(threads, ROPE_LUT_THREADS));
}

#endif

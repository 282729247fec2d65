/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIDGE_ROPE_ROTATE_CUH
#define RIDGE_ROPE_ROTATE_CUH

#include "kernels/support/bf16.cuh"
#include "kernels/support/launch.cuh"

enum { ROPE_TOKENS, ROPE_HEADS, ROPE_DIM, ROPE_POSITIONS };

/* One pair of BF16, turned by the angle whose cosine and sine are given. */
static __device__ __forceinline__ uint32_t rope_rotate(uint32_t pair, float2 cos_sin)
{
    const float2 x = bf16x2_unpack(pair);
    return bf16x2_pack(make_float2(x.x * cos_sin.x - x.y * cos_sin.y, x.x * cos_sin.y + x.y * cos_sin.x));
}

/* Positions index the table; a token whose position is outside it keeps its values. */
static __device__ __forceinline__ bool rope_inside(int position, int64_t positions)
{
    return position >= 0 && position < positions;
}

#endif

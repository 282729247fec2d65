/* SPDX-License-Identifier: Apache-2.0 */
/* The rule of block_scale.h on eight BF16 values at a time, by packed instructions; equal to it in every bit. */
#ifndef RIDGE_BLOCK_SCALE_CUH
#define RIDGE_BLOCK_SCALE_CUH

#include "kernels/ptx/arithmetic.cuh"
#include "kernels/support/bf16.cuh"
#include "kernels/support/block_scale.h"

/* Largest magnitudes of the even and of the odd values: a pair to fold on with max_u16x2. */
static __device__ __forceinline__ uint32_t block_scale_amax_pair(uint4 v)
{
    constexpr uint32_t magnitude = 0x7fff7fff;
    return max_u16x2(max_u16x2(v.x & magnitude, v.y & magnitude), max_u16x2(v.z & magnitude, v.w & magnitude));
}

/* The larger of the pair, in every lane of each aligned group of `lanes` lanes. */
template <int lanes> static __device__ __forceinline__ float block_scale_amax_lanes(uint32_t pair)
{
#pragma unroll
    for (int distance = lanes / 2; distance; distance /= 2)
        pair = max_u16x2(pair, __shfl_xor_sync(~0u, pair, distance));
    return __uint_as_float(max(pair << 16, pair & 0xffff0000u));
}

static __device__ __forceinline__ uint32_t block_scale_codes4(uint32_t low, uint32_t high, float inverse)
{
    const float2 a = bf16x2_unpack(low), b = bf16x2_unpack(high);
    return cvt_e4m3x2_f32(a.x * inverse, a.y * inverse) | cvt_e4m3x2_f32(b.x * inverse, b.y * inverse) << 16;
}

/* Codes of eight values; `inverse` is the rounded one of a scale that block_scale_of returned. */
static __device__ __forceinline__ uint2 block_scale_codes8(uint4 v, float inverse)
{
    if (isnan(inverse))
        return make_uint2(0x7f7f7f7f, 0x7f7f7f7f);
    return make_uint2(block_scale_codes4(v.x, v.y, inverse), block_scale_codes4(v.z, v.w, inverse));
}

#endif

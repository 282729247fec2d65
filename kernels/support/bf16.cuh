/* SPDX-License-Identifier: Apache-2.0 */
/* Two BF16 values in one 32-bit word, the first in the low half. */
#ifndef RIDGE_SUPPORT_BF16_CUH
#define RIDGE_SUPPORT_BF16_CUH

#include "kernels/ptx/arithmetic.cuh"

static __device__ __forceinline__ float2 bf16x2_unpack(uint32_t word)
{
    return make_float2(__uint_as_float(word << 16), __uint_as_float(word & 0xffff0000u));
}

static __device__ __forceinline__ uint32_t bf16x2_pack(float2 value)
{
    return cvt_bf16x2_f32(value.x, value.y);
}

#endif

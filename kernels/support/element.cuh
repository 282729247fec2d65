/* SPDX-License-Identifier: Apache-2.0 */
/* Elements narrower than a float, as they lie in memory; float(x) is exact. cuda_bf16.h, cuda_fp16.h and cuda_fp8.h have
 * them too, but a file that includes one of those takes a second longer to compile, and there are two hundred. */
#ifndef RIDGE_SUPPORT_ELEMENT_CUH
#define RIDGE_SUPPORT_ELEMENT_CUH

#include "kernels/ptx/arithmetic.cuh"

struct bf16 {
    uint16_t bits;
    __device__ __forceinline__ operator float() const
    {
        return __uint_as_float((uint32_t)bits << 16);
    }
};

struct f16 {
    uint16_t bits;
    __device__ __forceinline__ operator float() const
    {
        return cvt_f32_f16(bits);
    }
};

/* Sign, 4 exponent bits, 3 mantissa bits: moved to where f16 has them it is 2^8 too small. 0x7f and 0xff are NaN. */
struct e4m3 {
    uint8_t bits;
    __device__ __forceinline__ operator float() const
    {
        const uint32_t magnitude = bits & 0x7f;
        const float value = 256 * cvt_f32_f16((uint16_t)((bits & 0x80) << 8 | magnitude << 7));
        return magnitude == 0x7f ? __uint_as_float(0x7fffffff) : value;
    }
};

/* Nearest even. */
static __device__ __forceinline__ bf16 to_bf16(float x)
{
    return {cvt_bf16_f32(x)};
}

static __device__ __forceinline__ f16 to_f16(float x)
{
    return {cvt_f16_f32(x)};
}

#endif

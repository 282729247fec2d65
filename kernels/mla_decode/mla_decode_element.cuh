/* SPDX-License-Identifier: Apache-2.0 */
/* What q, kv and out are made of, and probabilities where tensor cores multiply them: BF16, or FP16 in the files of
 * mla_decode_f16, which define MLA_DECODE_F16 before they include anything. mla_pack and mla_unpack: two in a word, the
 * first in the low half. */
#ifndef RIDGE_MLA_DECODE_ELEMENT_CUH
#define RIDGE_MLA_DECODE_ELEMENT_CUH

#include "kernels/kernel.h"
#include "kernels/ptx/arithmetic.cuh"
#include "kernels/support/element.cuh"

#ifdef MLA_DECODE_F16

using mla_element = f16;
constexpr enum ridge_dtype mla_dtype = RIDGE_F16;

static __device__ __forceinline__ float mla_to_float(mla_element value)
{
    return float(value);
}

static __device__ __forceinline__ mla_element mla_from_float(float value)
{
    return to_f16(value);
}

static __device__ __forceinline__ uint32_t mla_pack(float low, float high)
{
    return cvt_f16x2_f32(low, high);
}

static __device__ __forceinline__ float2 mla_unpack(uint32_t word)
{
    return make_float2(cvt_f32_f16((uint16_t)word), cvt_f32_f16((uint16_t)(word >> 16)));
}

#else

using mla_element = bf16;
constexpr enum ridge_dtype mla_dtype = RIDGE_BF16;

static __device__ __forceinline__ float mla_to_float(mla_element value)
{
    return float(value);
}

static __device__ __forceinline__ mla_element mla_from_float(float value)
{
    return to_bf16(value);
}

static __device__ __forceinline__ uint32_t mla_pack(float low, float high)
{
    return cvt_bf16x2_f32(low, high);
}

static __device__ __forceinline__ float2 mla_unpack(uint32_t word)
{
    return make_float2(__uint_as_float(word << 16), __uint_as_float(word & 0xffff0000u));
}

#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What keys, q and probabilities are made of where tensor cores multiply them: BF16, or FP16. Eight codes become a
 * chunk of 16 bytes; words hold two elements, the first in the low half. */
#ifndef RIDGE_SPARSE_APART_ELEMENT_CUH
#define RIDGE_SPARSE_APART_ELEMENT_CUH

#include "kernels/mla_decode_sparse_fp8/sparse_kernel.cuh"
#include "kernels/ptx/half.cuh"
#include "kernels/ptx/wgmma_f16_n128.cuh"

/* Code times scale, rounded once. */
struct apart_bf16 {
    static constexpr bool is_bf16 = true;

    static __device__ __forceinline__ uint4 chunk(float2 codes, float scale)
    {
        const uint2 low = sparse_bf16(__float_as_uint(codes.x), scale),
                    high = sparse_bf16(__float_as_uint(codes.y), scale);
        return make_uint4(low.x, low.y, high.x, high.y);
    }
    static __device__ __forceinline__ uint32_t of_bf16(uint32_t word)
    {
        return word;
    }
    static __device__ __forceinline__ uint32_t of_f16(uint32_t word)
    {
        return cvt_bf16x2_f32(cvt_f32_f16((uint16_t)word), cvt_f32_f16((uint16_t)(word >> 16)));
    }
    static __device__ __forceinline__ uint32_t multiply(uint32_t a, uint32_t b)
    {
        return mul_bf16x2(a, b);
    }
    static __device__ __forceinline__ uint32_t pack(float low, float high)
    {
        return cvt_bf16x2_f32(low, high);
    }
    template <int major_b = 0, int count>
    static __device__ __forceinline__ void ss(float (&d)[count], uint64_t a, uint64_t b, int keep)
    {
        wgmma_bf16_ss<0, major_b>(d, a, b, keep);
    }
    template <int count>
    static __device__ __forceinline__ void rs(float (&d)[count], const uint32_t (&a)[4], uint64_t b, int keep)
    {
        wgmma_bf16_rs(d, a, b, keep);
    }
};

/* The scale is rounded to FP16 and then its product with the code: at most 2^-11 of a value from 2^-14 to 65504, where
 * BF16 loses up to 2^-9; smaller ones lose 2^-25 each, larger ones are infinite. */
struct apart_f16 {
    static constexpr bool is_bf16 = false;

    static __device__ __forceinline__ uint4 chunk(float2 codes, float scale)
    {
        const uint32_t factor = cvt_f16x2_f32(scale, scale);
        const uint2 low = cvt_f16x4_e4m3x4(__float_as_uint(codes.x)), high = cvt_f16x4_e4m3x4(__float_as_uint(codes.y));
        return make_uint4(mul_f16x2(low.x, factor), mul_f16x2(low.y, factor), mul_f16x2(high.x, factor),
                          mul_f16x2(high.y, factor));
    }
    static __device__ __forceinline__ uint32_t of_bf16(uint32_t word)
    {
        return cvt_f16x2_f32(__uint_as_float(word << 16), __uint_as_float(word & 0xffff0000u));
    }
    static __device__ __forceinline__ uint32_t of_f16(uint32_t word)
    {
        return word;
    }
    static __device__ __forceinline__ uint32_t multiply(uint32_t a, uint32_t b)
    {
        return mul_f16x2(a, b);
    }
    static __device__ __forceinline__ uint32_t pack(float low, float high)
    {
        return cvt_f16x2_f32(low, high);
    }
    template <int major_b = 0, int count>
    static __device__ __forceinline__ void ss(float (&d)[count], uint64_t a, uint64_t b, int keep)
    {
        wgmma_f16_ss<0, major_b>(d, a, b, keep);
    }
    template <int count>
    static __device__ __forceinline__ void rs(float (&d)[count], const uint32_t (&a)[4], uint64_t b, int keep)
    {
        wgmma_f16_rs(d, a, b, keep);
    }
};

#endif

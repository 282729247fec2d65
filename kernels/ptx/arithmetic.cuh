/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions, packed products and exponentials, one function per instruction. Sections of PTX ISA 9.0. In packed pairs
 * the first element is in the low half. */
#ifndef RIDGE_PTX_ARITHMETIC_CUH
#define RIDGE_PTX_ARITHMETIC_CUH

#include <stdint.h>

/* 9.7.3.22 (ex2): 2^x, relative error at most 2^-22; subnormal x and results are zero. One MUFU. */
static __device__ __forceinline__ float ex2(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* 9.7.9.22 (cvt), sm_89: two e4m3 to two f16, exact; NaN becomes 0x7fff. */
static __device__ __forceinline__ uint32_t cvt_f16x2_e4m3x2(uint16_t pair)
{
    uint32_t halves;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(pair));
    return halves;
}

/* The same for four; .x holds the first two. */
static __device__ __forceinline__ uint2 cvt_f16x4_e4m3x4(uint32_t quad)
{
    uint2 halves;
    asm("{\n"
        ".reg .b16 low, high;\n"
        "mov.b32 {low, high}, %2;\n"
        "cvt.rn.f16x2.e4m3x2 %0, low;\n"
        "cvt.rn.f16x2.e4m3x2 %1, high;\n"
        "}"
        : "=r"(halves.x), "=r"(halves.y)
        : "r"(quad));
    return halves;
}

/* 9.7.9.22 (cvt), sm_89: two f32 to two e4m3, nearest even, out-of-range values to the largest finite one. */
static __device__ __forceinline__ uint16_t cvt_e4m3x2_f32(float low, float high)
{
    uint16_t pair;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
    return pair;
}

/* 9.7.9.22 (cvt): f16 to f32, exact. */
static __device__ __forceinline__ float cvt_f32_f16(uint16_t half)
{
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(half));
    return y;
}

/* 9.7.9.22 (cvt), sm_80: two f32 to two bf16, nearest even. */
static __device__ __forceinline__ uint32_t cvt_bf16x2_f32(float low, float high)
{
    uint32_t pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

/* The same for one. */
static __device__ __forceinline__ uint16_t cvt_bf16_f32(float x)
{
    uint16_t y;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y) : "f"(x));
    return y;
}

/* 9.7.9.22 (cvt), sm_89: two f16 to two e4m3, the same. */
static __device__ __forceinline__ uint16_t cvt_e4m3x2_f16x2(uint32_t halves)
{
    uint16_t pair;
    asm("cvt.rn.satfinite.e4m3x2.f16x2 %0, %1;" : "=h"(pair) : "r"(halves));
    return pair;
}

/* 9.7.3.14 (rcp): 1 / x to one unit in the last place; subnormals are zero. One MUFU. */
static __device__ __forceinline__ float rcp_approx(float x)
{
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* 9.7.9.22 (cvt), sm_80: two f32 to two f16, nearest even, subnormals kept. */
static __device__ __forceinline__ uint32_t cvt_f16x2_f32(float low, float high)
{
    uint32_t pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

/* The same for one. */
static __device__ __forceinline__ uint16_t cvt_f16_f32(float x)
{
    uint16_t y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
    return y;
}

/* 9.7.1.13 (max), sm_90: the larger of each pair of unsigned 16-bit halves. */
static __device__ __forceinline__ uint32_t max_u16x2(uint32_t a, uint32_t b)
{
    uint32_t larger;
    asm("max.u16x2 %0, %1, %2;" : "=r"(larger) : "r"(a), "r"(b));
    return larger;
}

/* 9.7.1.12 (min), sm_90. */
static __device__ __forceinline__ uint32_t min_u16x2(uint32_t a, uint32_t b)
{
    uint32_t smaller;
    asm("min.u16x2 %0, %1, %2;" : "=r"(smaller) : "r"(a), "r"(b));
    return smaller;
}

/* 9.7.4.3 (mul), sm_90: two bf16 products, nearest even. */
static __device__ __forceinline__ uint32_t mul_bf16x2(uint32_t a, uint32_t b)
{
    uint32_t product;
    asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(product) : "r"(a), "r"(b));
    return product;
}

#endif

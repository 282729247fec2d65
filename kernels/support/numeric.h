/* SPDX-License-Identifier: Apache-2.0 */
/* Bit-exact conversions between FP32 and the narrow formats, the same on host and device. All round to nearest even,
 * ue8m0 alone up. bf16 and f16 overflow to infinity; the others saturate, infinity too, as cvt.satfinite does: e4m3 to
 * +-448, e5m2 to +-57344, e2m1 to +-6, ue8m0 to 2^127. NaN stays NaN and keeps its sign; e2m1 has none and gives +6. */
#ifndef RIDGE_NUMERIC_H
#define RIDGE_NUMERIC_H

#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define RIDGE_INLINE static __host__ __device__ __forceinline__
#else
#define RIDGE_INLINE static inline
#endif

RIDGE_INLINE uint32_t f32_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

RIDGE_INLINE float f32_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

RIDGE_INLINE uint16_t bf16_from_f32(float value)
{
    uint32_t bits = f32_bits(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

RIDGE_INLINE float bf16_to_f32(uint16_t bits)
{
    return f32_from_bits((uint32_t)bits << 16);
}

/* Rounds to a format of `mantissa` explicit bits whose smallest normal exponent is `min_exponent`, giving the value's
 * code without sign: exponent field and mantissa as one integer. Needs a finite magnitude. */
RIDGE_INLINE uint32_t narrow_code(uint32_t magnitude, int mantissa, int min_exponent)
{
    if (magnitude == 0)
        return 0;
    int exponent = (int)(magnitude >> 23) - 127;
    uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;
    int drop = 23 - mantissa;
    int field = exponent - min_exponent + 1;
    if (field < 1) { /* subnormal in the narrow format */
        drop += 1 - field;
        field = 1;
    }
    if (drop > 25)
        return 0;
    uint32_t kept = significand >> drop;
    uint32_t rest = significand & ((1u << drop) - 1u), half = 1u << (drop - 1);
    kept += rest > half || (rest == half && (kept & 1u));
    return ((uint32_t)(field - 1) << mantissa) + kept; /* the implicit bit carries into the exponent field */
}

RIDGE_INLINE uint16_t f16_from_f32(float value)
{
    uint32_t bits = f32_bits(value), magnitude = bits & 0x7fffffffu;
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000u);
    if (magnitude > 0x7f800000u)
        return sign | 0x7e00u;
    if (magnitude >= 0x47800000u) /* 65536: rounds to infinity from 65520 on, handled below for less */
        return sign | 0x7c00u;
    return (uint16_t)(sign | narrow_code(magnitude, 10, -14));
}

RIDGE_INLINE float f16_to_f32(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000u) << 16, field = bits >> 10 & 31u, mantissa = bits & 1023u;
    if (field == 31)
        return f32_from_bits(sign | 0x7f800000u | mantissa << 13);
    if (field)
        return f32_from_bits(sign | (field + 112) << 23 | mantissa << 13);
    float value = (float)mantissa * 5.9604644775390625e-8f; /* 2^-24 */
    return sign ? -value : value;
}

RIDGE_INLINE uint8_t e4m3_from_f32(float value)
{
    uint32_t bits = f32_bits(value), magnitude = bits & 0x7fffffffu;
    uint8_t sign = (uint8_t)(bits >> 24 & 0x80u);
    if (magnitude > 0x7f800000u)
        return sign | 0x7fu;
    if (magnitude >= 0x43e00000u) /* 448 */
        return sign | 0x7eu;
    return (uint8_t)(sign | narrow_code(magnitude, 3, -6));
}

RIDGE_INLINE float e4m3_to_f32(uint8_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x80u) << 24, field = bits >> 3 & 15u, mantissa = bits & 7u;
    if ((bits & 0x7fu) == 0x7fu)
        return f32_from_bits(sign | 0x7fc00000u);
    if (field)
        return f32_from_bits(sign | (field + 120) << 23 | mantissa << 20);
    float value = (float)mantissa * 0.001953125f; /* 2^-9 */
    return sign ? -value : value;
}

/* Sign, 5 exponent bits, 2 mantissa bits: the upper half of an f16. Has infinities (0x7c, 0xfc), which only decoding
 * meets. */
RIDGE_INLINE uint8_t e5m2_from_f32(float value)
{
    uint32_t bits = f32_bits(value), magnitude = bits & 0x7fffffffu;
    uint8_t sign = (uint8_t)(bits >> 24 & 0x80u);
    if (magnitude > 0x7f800000u)
        return sign | 0x7fu;
    if (magnitude >= 0x47600000u) /* 57344 */
        return sign | 0x7bu;
    return (uint8_t)(sign | narrow_code(magnitude, 2, -14));
}

RIDGE_INLINE float e5m2_to_f32(uint8_t bits)
{
    return f16_to_f32((uint16_t)((uint32_t)bits << 8));
}

/* Sign, 2 exponent bits, 1 mantissa bit in the low four bits of a byte: 0, 0.5, 1, 1.5, 2, 3, 4, 6. */
RIDGE_INLINE uint8_t e2m1_from_f32(float value)
{
    uint32_t bits = f32_bits(value), magnitude = bits & 0x7fffffffu;
    uint8_t sign = (uint8_t)(bits >> 28 & 8u);
    if (magnitude > 0x7f800000u)
        return 7;
    if (magnitude >= 0x40c00000u) /* 6 */
        return sign | 7u;
    return (uint8_t)(sign | narrow_code(magnitude, 1, 0));
}

/* Bits 4 to 7 are ignored. */
RIDGE_INLINE float e2m1_to_f32(uint8_t bits)
{
    uint32_t sign = (uint32_t)(bits & 8u) << 28, field = bits >> 1 & 3u, mantissa = bits & 1u;
    if (field)
        return f32_from_bits(sign | (field + 126) << 23 | mantissa << 22);
    return f32_from_bits(sign | mantissa * 0x3f000000u); /* 0.5 */
}

/* A power of two: code c is 2^(c - 127), 0xff is NaN; there is no zero, infinity or sign. The least power of two that
 * is not below the magnitude: zero and all up to 2^-127 give code 0, above 2^127 gives 0xfe (cvt.rp.satfinite). */
RIDGE_INLINE uint8_t ue8m0_from_f32(float value)
{
    uint32_t magnitude = f32_bits(value) & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return 0xffu;
    if (magnitude > 0x7f000000u)
        return 0xfeu;
    if (magnitude <= 0x00400000u)
        return 0;
    return (uint8_t)((magnitude + 0x7fffffu) >> 23);
}

/* 2^-127 is subnormal in FP32 but exact. */
RIDGE_INLINE float ue8m0_to_f32(uint8_t bits)
{
    return f32_from_bits(bits == 0xffu ? 0x7fc00000u : bits ? (uint32_t)bits << 23 : 0x00400000u);
}

#endif

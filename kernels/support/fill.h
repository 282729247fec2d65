/* SPDX-License-Identifier: Apache-2.0 */
/* Element i of a filled buffer, a function of seed and i alone: the same bits on host and device. Floating-point
 * values are one exact integer and one rounded multiplication, so no contraction can change them. */
#ifndef RIDGE_FILL_H
#define RIDGE_FILL_H

#include "kernels/kernel.h"
#include "kernels/support/numeric.h"

/* The finaliser of splitmix64 (Steele, Lea, Flood 2014) on a counter. */
RIDGE_INLINE uint64_t fill_hash(uint64_t seed, uint64_t index)
{
    uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

/* Sum of eight 16-bit uniforms: standard deviation sqrt(8 (2^32 - 1) / 12) = 53509.97. */
RIDGE_INLINE float fill_normal(uint64_t seed, uint64_t index, float scale)
{
    int32_t sum = -8 * 65535 / 2;
    for (int word = 0; word < 2; word++) {
        uint64_t bits = fill_hash(seed, 2 * index + (uint64_t)word);
        sum += (int32_t)((bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48));
    }
    return (float)sum * (scale * 1.8688106e-5f);
}

RIDGE_INLINE float fill_uniform(uint64_t seed, uint64_t index, float scale)
{
    return (float)((int32_t)(fill_hash(seed, index) >> 40) - 8388608) * (scale * 1.1920929e-7f);
}

RIDGE_INLINE void fill_store(void *dst, enum ridge_dtype dtype, int64_t i, float value)
{
    switch (dtype) {
    case RIDGE_F32:
        ((float *)dst)[i] = value;
        break;
    case RIDGE_F64:
        ((double *)dst)[i] = value;
        break;
    case RIDGE_F16:
        ((uint16_t *)dst)[i] = f16_from_f32(value);
        break;
    case RIDGE_BF16:
        ((uint16_t *)dst)[i] = bf16_from_f32(value);
        break;
    case RIDGE_E4M3:
        ((uint8_t *)dst)[i] = e4m3_from_f32(value);
        break;
    case RIDGE_I32:
    case RIDGE_U32:
        ((uint32_t *)dst)[i] = (uint32_t)(int32_t)value;
        break;
    case RIDGE_U8:
        ((uint8_t *)dst)[i] = (uint8_t)value;
        break;
    }
}

RIDGE_INLINE void fill_bits(void *dst, size_t element_bytes, int64_t i, uint64_t bits)
{
    switch (element_bytes) {
    case 1:
        ((uint8_t *)dst)[i] = (uint8_t)bits;
        break;
    case 2:
        ((uint16_t *)dst)[i] = (uint16_t)bits;
        break;
    case 4:
        ((uint32_t *)dst)[i] = (uint32_t)bits;
        break;
    default:
        ((uint64_t *)dst)[i] = bits;
    }
}

RIDGE_INLINE size_t fill_dtype_bytes(enum ridge_dtype dtype)
{
    return dtype == RIDGE_F64                             ? 8
           : dtype == RIDGE_F16 || dtype == RIDGE_BF16    ? 2
           : dtype == RIDGE_E4M3 || dtype == RIDGE_U8     ? 1
                                                          : 4;
}

/* N(0, 1), and N(0, 1) + N(0, 100) for one element in a thousand: the inputs on which FlashAttention-3 (arXiv 2407.08608)
 * states its errors. */
RIDGE_INLINE float fill_outlier(uint64_t seed, uint64_t index, float scale)
{
    return fill_normal(seed, index, fill_hash(~seed, index) % 1000 == 0 ? scale * 10.049876f : scale);
}

/* data: 0 random as `fill` says, 1 zeros, 2 ones, 3 normal elements with outliers and others random. */
RIDGE_INLINE void fill_element(void *dst, enum ridge_dtype dtype, enum ridge_fill fill, float scale, int data,
                               uint64_t seed, int64_t i)
{
    bool integer = dtype == RIDGE_I32 || dtype == RIDGE_U32 || dtype == RIDGE_U8;
    if (data == 1 || data == 2)
        fill_store(dst, dtype, i, (float)(data - 1));
    else if (fill == RIDGE_FILL_BITS)
        fill_bits(dst, fill_dtype_bytes(dtype), i, fill_hash(seed, (uint64_t)i));
    else if (integer)
        fill_bits(dst, fill_dtype_bytes(dtype), i, fill_hash(seed, (uint64_t)i) % (uint64_t)(scale < 1 ? 1 : scale));
    else if (fill == RIDGE_FILL_NORMAL && data == 3)
        fill_store(dst, dtype, i, fill_outlier(seed, (uint64_t)i, scale));
    else if (fill == RIDGE_FILL_NORMAL)
        fill_store(dst, dtype, i, fill_normal(seed, (uint64_t)i, scale));
    else
        fill_store(dst, dtype, i, fill_uniform(seed, (uint64_t)i, scale));
}

#endif

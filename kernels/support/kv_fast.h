/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of kv_format.h for BF16 values by fewer operations, the same on host and device. tests/test_kv_fast.c holds
 * them against the rules for all BF16 values and all scales. */
#ifndef RIDGE_KV_FAST_H
#define RIDGE_KV_FAST_H

#include "kernels/support/kv_format.h"

/* Bits of the scale, a power of two, of all formats but V4.1 FP4. amax is at most 448 times 2^e if its significand is
 * at most 1.75, so the least power of two comes from the exponent. `amax`: the bits of a BF16 magnitude as FP32. */
RIDGE_INLINE uint32_t kv_fast_scale(enum kv_format format, uint32_t amax)
{
    const int32_t least = (format == KV_V41_FP8 ? 127 - 22 : 127 - 13) << 23;
    const int32_t scale = (int32_t)((amax + 0x1fffffu) & 0x7f800000u) - (8 << 23);
    if (amax >= 0x7f800000u)
        return 0x7fc00000u;
    return (uint32_t)(scale > least ? scale : least);
}

/* As it is stored. */
RIDGE_INLINE uint32_t kv_fast_scale_code(enum kv_format format, uint32_t scale)
{
    return format == KV_V32 ? scale : scale == 0x7fc00000u ? 0xffu : scale >> 23;
}

/* V4.1 FP4. A BF16 value divided by 6 or by a scale of four significant bits is a tie of what comes next, e4m3 or e2m1,
 * or at least 2^-8 of itself away from one. So a product with the inverse, off by a few units in the last place, is on
 * the right side once f16 has rounded it to 11 bits.
 *
 * e2m1 by integers: 2^-14 times an e2m1 value is an f16 whose bits are the code shifted left by nine, subnormal 0.5
 * included. KV_E2M1_LARGEST is 6 times 2^-14 in both halves of a word. */
#define KV_E2M1_LARGEST 0x0e000e00u
#define KV_E2M1_FACTOR 0x1p-14f

/* Byte i of the result is the byte that nibble i of `selector` names: 0 to 3 of a, 4 to 7 of b. */
RIDGE_INLINE uint32_t kv_bytes(uint32_t a, uint32_t b, uint32_t selector)
{
#ifdef __CUDA_ARCH__
    return __byte_perm(a, b, selector);
#else
    uint64_t both = (uint64_t)b << 32 | a;
    uint32_t result = 0;
    for (int i = 0; i < 4; i++)
        result |= (uint32_t)(both >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
    return result;
#endif
}

/* A pair of f16 magnitudes, at most KV_E2M1_LARGEST, rounded to nearest even where the code ends; with the signs in
 * bits 15 and 31 of `signs` the high byte of a half is a code as s000eem, then bits to ignore. */
RIDGE_INLINE uint32_t kv_e2m1_round(uint32_t magnitudes, uint32_t signs)
{
    return (magnitudes + 0x00ff00ffu + (magnitudes >> 9 & 0x00010001u)) | (signs & 0x80008000u);
}

/* Eight codes from four rounded pairs, the first in the low nibble. */
RIDGE_INLINE uint32_t kv_e2m1x8(uint32_t r0, uint32_t r1, uint32_t r2, uint32_t r3)
{
    const uint32_t even = kv_bytes(kv_bytes(r0, r1, 0x7531), kv_bytes(r2, r3, 0x7531), 0x6420);
    const uint32_t odd = kv_bytes(kv_bytes(r0, r1, 0x7531), kv_bytes(r2, r3, 0x7531), 0x7531);
    return (even >> 1 & 0x07070707u) | (even >> 4 & 0x08080808u) | (odd << 3 & 0x70707070u) | (odd & 0x80808080u);
}

/* Two codes in the low byte to two f16; the other bytes are ignored. */
RIDGE_INLINE uint32_t kv_f16x2_e2m1x2(uint32_t codes)
{
    return (codes & 0x07u) << 9 | (codes & 0x08u) << 12 | (codes & 0x70u) << 21 | (codes & 0x80u) << 24;
}

#endif

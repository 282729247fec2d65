/* SPDX-License-Identifier: Apache-2.0 */
/* Quantisation to e4m3 in blocks of 128, the same on host and device: the rule of the scales, their layouts, and what
 * they cost in error.
 *
 *   scale = max(amax, 1e-4) / 448        amax: largest magnitude of the block
 *   code  = e4m3(value * (1 / scale))    nearest even, saturated
 *
 * Every operation is one FP32 operation rounded to nearest even, so results are equal to the last bit everywhere. This
 * is the rule of DeepGEMM's tests. A block with a NaN or an infinity has the scale NaN (0x7fc00000) and codes 0x7f, so
 * that all of it decodes to NaN. A block of zeros has the least scale and codes 0; negative zeros and negative values
 * that round to zero give 0x80.
 *
 * Layouts. Scales of 1 x 128 blocks of x [m,k] are M-major, [ceil(k/128)][m rounded up to 4]: rows start at multiples
 * of 16 bytes, as tensor copies need; quantisers write zeros to the padding. Packed scales are [ceil(k/512)][m rounded
 * up to 4] words of four UE8M0 codes, that of the first block of k in the low byte; where there is no block or row the
 * code is 0. Scales of 128 x 128 blocks of x [n,k] are [ceil(n/128)][ceil(k/128)]. */
#ifndef RIDGE_BLOCK_SCALE_H
#define RIDGE_BLOCK_SCALE_H

#include "kernels/support/numeric.h"

enum { BLOCK_SCALE_SIDE = 128 };

/* Blocks of 128 along an axis. */
RIDGE_INLINE int64_t block_scale_count(int64_t length)
{
    return (length + 127) / 128;
}

/* Words from one row of the M-major layouts to the next. */
RIDGE_INLINE int64_t block_scale_pitch(int64_t m)
{
    return (m + 3) / 4 * 4;
}

/* Words of four blocks along k. */
RIDGE_INLINE int64_t block_scale_words(int64_t k)
{
    return (k + 511) / 512;
}

RIDGE_INLINE float block_scale_of(float amax)
{
    if ((f32_bits(amax) & 0x7fffffffu) >= 0x7f800000u)
        return f32_from_bits(0x7fc00000u);
    return (amax > 1e-4f ? amax : 1e-4f) / 448.0f;
}

/* `inverse` is 1 / scale. */
RIDGE_INLINE uint8_t block_scale_code(float value, float inverse)
{
    int nan = (f32_bits(inverse) & 0x7fffffffu) > 0x7f800000u;
    return nan ? 0x7fu : e4m3_from_f32(value * inverse);
}

/* The larger of two BF16 magnitudes; NaN is above infinity. */
RIDGE_INLINE uint32_t block_scale_larger(uint32_t amax, uint16_t value)
{
    return amax > (value & 0x7fffu) ? amax : value & 0x7fffu;
}

#ifdef __cplusplus
extern "C" {
#endif

/* Hard inputs of the quantisers: names, NULL-terminated, and what the i-th (from 1) does to BF16 x [rows,k]. */
extern const char *const block_scale_cases[];
void block_scale_harden(int hard, uint64_t seed, int64_t rows, int64_t k, uint16_t *x);

enum block_scale_rule {
    BLOCK_SCALE_F32,   /* as above */
    BLOCK_SCALE_UE8M0, /* rounded up to a power of two, as packed scales are */
    BLOCK_SCALE_RULES
};

enum block_scale_data {
    BLOCK_SCALE_NORMAL,   /* N(0, 1) */
    BLOCK_SCALE_OUTLIERS, /* N(0, 1), about one value in 64 is 32 times as large */
    BLOCK_SCALE_SMALL,    /* N(0, 1) / 1000000: the clamp decides */
    BLOCK_SCALE_DATA
};

struct block_scale_error {
    double rms;       /* root of the sum of squared errors over that of squared values */
    double of_amax;   /* largest error as a share of the largest magnitude of its block */
    double of_value;  /* largest error as a share of the value, where the code is a normal number */
    double underflow; /* share of the values that are not zero and have the code 0 */
};

/* Host only: random values, `side` rows of 128 a block, through the rule and back. Deterministic in `seed`. */
void block_scale_measure(enum block_scale_rule rule, enum block_scale_data data, int side, int blocks, uint64_t seed,
                         struct block_scale_error *error);

#ifdef __cplusplus
}
#endif

#endif

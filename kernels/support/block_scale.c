/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/support/block_scale.h"

#include <math.h>

#include "kernels/support/fill.h"

const char *const block_scale_cases[] = {"zeros", "bits", "outliers", "clamp", "ties", NULL};

enum { ZEROS = 1, BITS, OUTLIERS, CLAMP, TIES };

static uint16_t hard_value(int hard, uint64_t seed, int64_t row, int64_t column, int64_t i, uint16_t value)
{
    const uint64_t bits = fill_hash(seed, (uint64_t)i);
    switch (hard) {
    case ZEROS: /* every other block, with both signs */
        return (row / 128 + column / 128) % 2 ? value : (uint16_t)(bits & 0x8000);
    case BITS: /* all BF16 there are; an infinity or a NaN in two blocks of five */
        return (uint16_t)bits;
    case OUTLIERS:
        return bits % 64 ? value : bf16_from_f32(32 * bf16_to_f32(value));
    case CLAMP: /* magnitudes on both sides of 1e-4, and subnormal BF16 */
        return bf16_from_f32(ldexpf(bf16_to_f32(value), row % 7 == 0 ? -130 : -14 - (int)(row % 3)));
    default: /* TIES: integers, half of them between two codes, under a scale of one */
        return bf16_from_f32(column % 128 == 0 ? 448 : (float)((int)(bits % 897) - 448));
    }
}

void block_scale_harden(int hard, uint64_t seed, int64_t rows, int64_t k, uint16_t *x)
{
    if (hard == 0)
        return;
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = 0; column < k; column++) {
            const int64_t i = row * k + column;
            x[i] = hard_value(hard, seed, row, column, i, x[i]);
        }
}

static float draw(enum block_scale_data data, uint64_t seed, uint64_t at)
{
    const bool outlier = data == BLOCK_SCALE_OUTLIERS && fill_hash(~seed, at) % 64 == 0;
    const float value = fill_normal(seed, at, outlier ? 32 : data == BLOCK_SCALE_SMALL ? 1e-6f : 1);
    return bf16_to_f32(bf16_from_f32(value));
}

static float scale_by(enum block_scale_rule rule, float amax)
{
    const float scale = block_scale_of(amax);
    return rule == BLOCK_SCALE_UE8M0 ? ue8m0_to_f32(ue8m0_from_f32(scale)) : scale;
}

void block_scale_measure(enum block_scale_rule rule, enum block_scale_data data, int side, int blocks, uint64_t seed,
                         struct block_scale_error *error)
{
    const int count = side * BLOCK_SCALE_SIDE;
    double errors = 0, values = 0;
    *error = (struct block_scale_error){0};
    for (int block = 0; block < blocks; block++) {
        const uint64_t first = (uint64_t)block * (uint64_t)count;
        uint32_t amax = 0;
        for (int i = 0; i < count; i++)
            amax = block_scale_larger(amax, bf16_from_f32(draw(data, seed, first + (uint64_t)i)));
        const float scale = scale_by(rule, bf16_to_f32((uint16_t)amax));
        for (int i = 0; i < count; i++) {
            const double value = draw(data, seed, first + (uint64_t)i);
            const uint8_t code = block_scale_code((float)value, 1 / scale);
            const double off = fabs((double)e4m3_to_f32(code) * scale - value);
            errors += off * off;
            values += value * value;
            error->of_amax = fmax(error->of_amax, off / bf16_to_f32((uint16_t)amax));
            if ((code & 0x7f) >= 8)
                error->of_value = fmax(error->of_value, off / fabs(value));
            error->underflow += value != 0 && (code & 0x7f) == 0;
        }
    }
    error->rms = values > 0 ? sqrt(errors / values) : 0;
    error->underflow /= (double)blocks * count;
}

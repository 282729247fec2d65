/* SPDX-License-Identifier: Apache-2.0 */
/* The shortcuts of kv_fast.h against the rules of kv_format.h: all BF16 values, all scales. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "kernels/support/kv_fast.h"

static void powers_of_two(void **state)
{
    (void)state;
    for (int f = 0; f < KV_V41_FP4; f++)
        for (uint32_t bits = 0; bits < 0x8000; bits++) {
            const enum kv_format format = (enum kv_format)f;
            const uint32_t code = kv_scale_code(format, KV_SCALE_FORMAT, bf16_to_f32((uint16_t)bits));
            const uint32_t scale = kv_fast_scale(format, bits << 16);
            if (kv_fast_scale_code(format, scale) != code || scale != f32_bits(kv_scale_value(format, code)))
                fail_msg("format %d, amax 0x%04x: scale 0x%08x, expected code 0x%x", f, bits, scale, code);
        }
}

/* As kernels do it, with an inverse that is `off` units in the last place wrong, as an approximate one may be. */
static float wrong_by(float value, int off)
{
    return f32_from_bits((uint32_t)((int32_t)f32_bits(value) + off));
}

static void e4m3_scales(void **state)
{
    (void)state;
    for (int off = -2; off <= 2; off++)
        for (uint32_t bits = 0; bits < 0x7f80; bits++) {
            const float amax = fmaxf(bf16_to_f32((uint16_t)bits), 6 * 0x1p-9f);
            const float sixth = f16_to_f32(f16_from_f32(amax * wrong_by(1 / 6.0f, off)));
            assert_int_equal(e4m3_from_f32(sixth), kv_scale_code(KV_V41_FP4, KV_SCALE_FORMAT, amax));
        }
}

/* The value and its negative in turn, in all eight places. */
static uint32_t by_integers(float value, float inverse)
{
    const uint16_t half = f16_from_f32(value * inverse), largest = KV_E2M1_LARGEST & 0xffff;
    const uint32_t magnitude = half > largest ? largest : half;
    const uint32_t rounded = kv_e2m1_round(magnitude | magnitude << 16, 0xffff1234u);
    return kv_e2m1x8(rounded, rounded, rounded, rounded);
}

static void e2m1_places(void **state)
{
    (void)state;
    uint32_t rounded[4];
    for (uint32_t i = 0; i < 4; i++) /* codes 0, 9, 2, 11, 4, 13, 6, 15 */
        rounded[i] = kv_e2m1_round(2 * i << 9 | (2 * i + 1) << 25, 0x80000000u);
    assert_int_equal(kv_e2m1x8(rounded[0], rounded[1], rounded[2], rounded[3]), 0xf6d4b290);
}

static void e2m1_codes(void **state)
{
    (void)state;
    for (int code = 1; code < 0x7f; code++)
        for (int off = -2; off <= 2; off++) {
            const float scale = e4m3_to_f32((uint8_t)code), inverse = wrong_by(1 / scale, off) * KV_E2M1_FACTOR;
            for (uint32_t bits = 0; bits < 0x7f80; bits++) {
                const float value = bf16_to_f32((uint16_t)bits);
                const uint32_t expected = kv_code(KV_V41_FP4, value, scale);
                const uint32_t codes = by_integers(value, inverse);
                if (codes != 0x11111111u * expected + 0x80808080u)
                    fail_msg("%a by %a: 0x%08x, expected code %u", value, scale, codes, expected);
            }
        }
}

static void e2m1_values(void **state)
{
    (void)state;
    for (uint32_t codes = 0; codes < 256; codes++) {
        const uint32_t halves = kv_f16x2_e2m1x2(codes | 0x5a5a5a00u);
        const float low = f16_to_f32((uint16_t)halves) * 0x1p14f, high = f16_to_f32((uint16_t)(halves >> 16)) * 0x1p14f;
        assert_int_equal(f32_bits(low), f32_bits(e2m1_to_f32((uint8_t)codes)));
        assert_int_equal(f32_bits(high), f32_bits(e2m1_to_f32((uint8_t)(codes >> 4))));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(powers_of_two), cmocka_unit_test(e4m3_scales),
                                       cmocka_unit_test(e2m1_places), cmocka_unit_test(e2m1_codes),
                                       cmocka_unit_test(e2m1_values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

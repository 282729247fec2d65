/* SPDX-License-Identifier: Apache-2.0 */
/* Every code of the narrow formats converts to FP32 and back; ties, saturation and subnormals by known values. The
 * formats of 8 and 4 bits are also held against their definitions: the value of every code by ldexp, and the rounding
 * by a search for the nearest value, at every midpoint and its neighbours and on random FP32. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "kernels/support/numeric.h"

static void test_round_trips(void **state)
{
    (void)state;
    for (uint32_t code = 0; code < 65536; code++) {
        if (!isnan(bf16_to_f32((uint16_t)code)))
            assert_int_equal(bf16_from_f32(bf16_to_f32((uint16_t)code)), code);
        if (!isnan(f16_to_f32((uint16_t)code)))
            assert_int_equal(f16_from_f32(f16_to_f32((uint16_t)code)), code);
    }
    for (uint32_t code = 0; code < 256; code++)
        if (!isnan(e4m3_to_f32((uint8_t)code)))
            assert_int_equal(e4m3_from_f32(e4m3_to_f32((uint8_t)code)), code);
    for (uint32_t code = 0; code < 256; code++)
        if (isfinite(e5m2_to_f32((uint8_t)code)))
            assert_int_equal(e5m2_from_f32(e5m2_to_f32((uint8_t)code)), code);
    for (uint32_t code = 0; code < 256; code++)
        assert_int_equal(ue8m0_from_f32(ue8m0_to_f32((uint8_t)code)), code);
    for (uint32_t code = 0; code < 16; code++)
        assert_int_equal(e2m1_from_f32(e2m1_to_f32((uint8_t)code)), code);
}

static void test_against_the_compiler(void **state)
{
    (void)state;
    uint32_t bits = 12345;
    for (int i = 0; i < 1000000; i++) {
        bits = bits * 1664525u + 1013904223u;
        float value = f32_from_bits(bits);
        if (isnan(value))
            continue;
        _Float16 half = (_Float16)value;
        uint16_t expected;
        memcpy(&expected, &half, sizeof expected);
        assert_int_equal(f16_from_f32(value), expected);
    }
}

static void test_known_values(void **state)
{
    (void)state;
    assert_int_equal(e4m3_from_f32(448), 0x7e);
    assert_int_equal(e4m3_from_f32(1e9f), 0x7e); /* saturates */
    assert_int_equal(e4m3_from_f32(-INFINITY), 0xfe);
    assert_int_equal(e4m3_from_f32(NAN) & 0x7f, 0x7f);
    assert_int_equal(e4m3_from_f32(0x1p-9f), 1);   /* smallest subnormal */
    assert_int_equal(e4m3_from_f32(0x1p-10f), 0);  /* tie to even */
    assert_int_equal(e4m3_from_f32(0x1.8p-9f), 2); /* tie to even */
    assert_int_equal(e4m3_from_f32(17), 0x58);     /* 16 or 18: even mantissa */
    assert_int_equal(e5m2_from_f32(57344), 0x7b);
    assert_int_equal(e5m2_from_f32(-61440), 0xfb); /* would round to infinity, saturates */
    assert_int_equal(e5m2_from_f32(0x1p-17f), 0);  /* tie to even */
    assert_int_equal(e5m2_from_f32(1.125f), 0x3c); /* 1 or 1.25: even mantissa */
    assert_int_equal(e2m1_from_f32(0.25f), 0);     /* ties: to the even codes 0, 1, 2, 4 */
    assert_int_equal(e2m1_from_f32(0.75f), 2);
    assert_int_equal(e2m1_from_f32(-2.5f), 0xc);
    assert_int_equal(e2m1_from_f32(5), 6);
    assert_int_equal(e2m1_from_f32(100), 7);
    assert_int_equal(bf16_from_f32(1.00390625f), 0x3f80); /* 1 + 2^-8: tie to even */
    assert_int_equal(bf16_from_f32(1.01171875f), 0x3f82); /* 1 + 3 2^-8 */
    assert_true(isnan(bf16_to_f32(bf16_from_f32(f32_from_bits(0x7f800001u)))));
    assert_int_equal(f16_from_f32(65520), 0x7c00);
    assert_int_equal(f16_from_f32(65519), 0x7bff);
}

struct narrow {
    const char *name;
    int mantissa, bias, codes; /* codes: without sign, finite */
    int sign_bit, nan_code;
    uint8_t (*from)(float);
    float (*to)(uint8_t);
};

static uint8_t from_e4m3(float value)
{
    return e4m3_from_f32(value);
}

static float to_e4m3(uint8_t code)
{
    return e4m3_to_f32(code);
}

static uint8_t from_e5m2(float value)
{
    return e5m2_from_f32(value);
}

static float to_e5m2(uint8_t code)
{
    return e5m2_to_f32(code);
}

static uint8_t from_e2m1(float value)
{
    return e2m1_from_f32(value);
}

static float to_e2m1(uint8_t code)
{
    return e2m1_to_f32(code);
}

static const struct narrow narrows[] = {
    {"e4m3", 3, 7, 127, 0x80, 0x7f, from_e4m3, to_e4m3},
    {"e5m2", 2, 15, 124, 0x80, 0x7f, from_e5m2, to_e5m2},
    {"e2m1", 1, 1, 8, 0x08, 0x07, from_e2m1, to_e2m1},
};

/* The definition of a code without sign. */
static double defined_value(const struct narrow *narrow, int code)
{
    int field = code >> narrow->mantissa, fraction = code & ((1 << narrow->mantissa) - 1);
    if (field == 0)
        return ldexp(fraction, 1 - narrow->bias - narrow->mantissa);
    return ldexp(fraction + (1 << narrow->mantissa), field - narrow->bias - narrow->mantissa);
}

/* Nearest of all finite codes, the even one on a tie; beyond the largest value the largest. */
static int nearest_code(const struct narrow *narrow, float value)
{
    int best = 0;
    double magnitude = fmin(fabs((double)value), defined_value(narrow, narrow->codes - 1));
    for (int code = 1; code < narrow->codes; code++) {
        double here = fabs(defined_value(narrow, code) - magnitude),
               there = fabs(defined_value(narrow, best) - magnitude);
        if (here < there || (here == there && code % 2 == 0))
            best = code;
    }
    return best | (signbit(value) ? narrow->sign_bit : 0);
}

static void check_rounding(const struct narrow *narrow, float value)
{
    int expected = nearest_code(narrow, value), actual = narrow->from(value);
    if (actual != expected)
        fail_msg("%s of %a: 0x%02x, expected 0x%02x", narrow->name, (double)value, actual, expected);
}

static void test_values_of_codes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof narrows / sizeof *narrows; i++) {
        const struct narrow *narrow = &narrows[i];
        for (int code = 0; code < narrow->codes; code++) {
            float positive = narrow->to((uint8_t)code), negative = narrow->to((uint8_t)(code | narrow->sign_bit));
            assert_true((double)positive == defined_value(narrow, code) && !signbit(positive));
            assert_true((double)negative == -defined_value(narrow, code) && signbit(negative));
        }
    }
    assert_true(isnan(e4m3_to_f32(0x7f)) && isnan(e4m3_to_f32(0xff)));
    assert_true(isinf(e5m2_to_f32(0x7c)) && e5m2_to_f32(0x7c) > 0 && isinf(e5m2_to_f32(0xfc)) && e5m2_to_f32(0xfc) < 0);
    for (int code = 0x7d; code <= 0x7f; code++)
        assert_true(isnan(e5m2_to_f32((uint8_t)code)) && isnan(e5m2_to_f32((uint8_t)(code | 0x80))));
    for (int code = 16; code < 256; code++)
        assert_int_equal(f32_bits(e2m1_to_f32((uint8_t)code)), f32_bits(e2m1_to_f32((uint8_t)(code & 15))));
    for (int code = 0; code < 255; code++)
        assert_true((double)ue8m0_to_f32((uint8_t)code) == ldexp(1, code - 127));
    assert_true(isnan(ue8m0_to_f32(0xff)));
}

/* Rounding is monotonic between two midpoints, so these inputs are all that can go wrong. */
static void test_midpoints(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof narrows / sizeof *narrows; i++)
        for (int code = 0; code < narrows[i].codes; code++) {
            double value = defined_value(&narrows[i], code), next = defined_value(&narrows[i], code + 1);
            const float inputs[] = {(float)value,
                                    nextafterf((float)value, 0),
                                    nextafterf((float)value, INFINITY),
                                    (float)((value + next) / 2),
                                    nextafterf((float)((value + next) / 2), 0),
                                    nextafterf((float)((value + next) / 2), INFINITY)};
            for (size_t j = 0; j < sizeof inputs / sizeof *inputs; j++) {
                check_rounding(&narrows[i], inputs[j]);
                check_rounding(&narrows[i], -inputs[j]);
            }
        }
}

static void test_random(void **state)
{
    (void)state;
    uint32_t bits = 20250101;
    for (int i = 0; i < 200000; i++) {
        bits = bits * 1664525u + 1013904223u;
        float value = f32_from_bits(bits);
        float near_one = f32_from_bits((bits & 0x87ffffffu) | 0x38000000u); /* 2^-15 to 2 */
        for (size_t j = 0; j < sizeof narrows / sizeof *narrows; j++) {
            check_rounding(&narrows[j], near_one * 16);
            if (!isnan(value))
                check_rounding(&narrows[j], value);
            else if (narrows[j].sign_bit == 0x80)
                assert_int_equal(narrows[j].from(value), narrows[j].nan_code | (bits >> 31 ? 0x80 : 0));
            else
                assert_int_equal(narrows[j].from(value), narrows[j].nan_code);
        }
    }
    for (size_t j = 0; j < sizeof narrows / sizeof *narrows; j++) {
        assert_int_equal(narrows[j].from(INFINITY), narrows[j].codes - 1);
        assert_int_equal(narrows[j].from(-INFINITY), (narrows[j].codes - 1) | narrows[j].sign_bit);
    }
}

static void check_ue8m0(float value)
{
    int expected = 0;
    if (isnan(value))
        expected = 0xff;
    else
        while (expected < 0xfe && ldexp(1, expected - 127) < fabs((double)value))
            expected++;
    int actual = ue8m0_from_f32(value);
    if (actual != expected)
        fail_msg("ue8m0 of %a: 0x%02x, expected 0x%02x", (double)value, actual, expected);
}

static void test_ue8m0(void **state)
{
    (void)state;
    for (int code = 0; code < 255; code++) {
        float value = ldexpf(1, code - 127);
        const float inputs[] = {value, nextafterf(value, 0), nextafterf(value, INFINITY), -value};
        for (size_t j = 0; j < sizeof inputs / sizeof *inputs; j++)
            check_ue8m0(inputs[j]);
    }
    uint32_t bits = 7;
    for (int i = 0; i < 100000; i++) {
        bits = bits * 1664525u + 1013904223u;
        check_ue8m0(f32_from_bits(bits));
    }
    assert_int_equal(ue8m0_from_f32(0), 0);
    assert_int_equal(ue8m0_from_f32(0x1p-149f), 0);
    assert_int_equal(ue8m0_from_f32(1), 127);
    assert_int_equal(ue8m0_from_f32(nextafterf(1, 2)), 128);
    assert_int_equal(ue8m0_from_f32(INFINITY), 0xfe);
    assert_int_equal(ue8m0_from_f32(NAN), 0xff);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips),  cmocka_unit_test(test_against_the_compiler),
        cmocka_unit_test(test_known_values), cmocka_unit_test(test_values_of_codes),
        cmocka_unit_test(test_midpoints),    cmocka_unit_test(test_random),
        cmocka_unit_test(test_ue8m0),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

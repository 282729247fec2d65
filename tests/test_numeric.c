/* SPDX-License-Identifier: Apache-2.0 */
/* Every code of the narrow formats converts to FP32 and back; ties, saturation and subnormals by known values. */
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
    assert_int_equal(e4m3_from_f32(0x1p-9f), 1);       /* smallest subnormal */
    assert_int_equal(e4m3_from_f32(0x1p-10f), 0);      /* tie to even */
    assert_int_equal(e4m3_from_f32(0x1.8p-9f), 2);     /* tie to even */
    assert_int_equal(e4m3_from_f32(17), 0x58);         /* 16 or 18: even mantissa */
    assert_int_equal(bf16_from_f32(1.00390625f), 0x3f80); /* 1 + 2^-8: tie to even */
    assert_int_equal(bf16_from_f32(1.01171875f), 0x3f82); /* 1 + 3 2^-8 */
    assert_true(isnan(bf16_to_f32(bf16_from_f32(f32_from_bits(0x7f800001u)))));
    assert_int_equal(f16_from_f32(65520), 0x7c00);
    assert_int_equal(f16_from_f32(65519), 0x7bff);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_against_the_compiler),
        cmocka_unit_test(test_known_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

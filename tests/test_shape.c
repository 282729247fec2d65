/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "bench/shape.h"

static double count_a(const int64_t *dim)
{
    return (double)dim[0] * (double)dim[2];
}

static double count_d(const int64_t *dim)
{
    return (double)dim[0] * (double)dim[1];
}

static const char *shape_error(const int64_t *dim)
{
    return dim[0] < dim[1] ? "m=1 must be at least n" : NULL;
}

static const struct ridge_family family = {
    .axes = 3,
    .axis = {{"m", 1, INT64_MAX, 1, "rows"}, {"n", 1, 4096, 1, "columns"}, {"k", 16, 1 << 20, 16, "depth"}},
    .buffers = 2,
    .buffer = {{"a", RIDGE_BF16, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, count_a},
               {"d", RIDGE_F32, RIDGE_OUTPUT, RIDGE_FILL_BITS, 1, count_d}},
};

static void values_are_named_and_the_rest_kept(void **state)
{
    (void)state;
    int64_t dim[] = {4096, 512, 64};
    struct ridge_error err = {""};
    char name[64];
    assert_int_equal(shape_parse(&family, "k=128,m=1", dim, &err), RIDGE_OK);
    assert_int_equal(dim[0], 1);
    assert_int_equal(dim[1], 512);
    assert_int_equal(dim[2], 128);
    shape_name(&family, dim, name, sizeof name);
    assert_string_equal(name, "1x512x128");
    assert_int_equal(shape_parse(&family, "m=9223372036854775807", dim, &err), RIDGE_OK);
    assert_int_equal(dim[0], INT64_MAX);
    char small[6];
    shape_name(&family, dim, small, sizeof small);
    assert_string_equal(small, "92233");
}

static void names_say_for_which_families_a_shape_is(void **state)
{
    (void)state;
    static const char *const its_own[] = {"m=1", "k=-5,m=x", "m=1,m=2"}, *const others[] = {"q=1", "m=1,q=1", "mm=1",
                                                                                            "m",   "=1",      "",
                                                                                            "m=1,"};
    for (size_t i = 0; i < sizeof its_own / sizeof *its_own; i++)
        assert_true(shape_has_axes(&family, its_own[i]));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(shape_has_axes(&family, others[i]));
}

static void bad_values_name_axis_value_and_rule(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"m=0", "m=0: m must be in 1 to"},
        {"m=-1", "m=-1: m must be in 1 to"},
        {"n=4097", "n=4097: n must be in 1 to 4096"},
        {"m=abc", "m=abc: not an integer"},
        {"m=", "m=: not an integer"},
        {"m=-", "m=-: not an integer"},
        {"m= 1", "m= 1: not an integer"},
        {"m=+1", "m=+1: not an integer"},
        {"m=1.5", "m=1.5: not an integer"},
        {"m=0x10", "m=0x10: not an integer"},
        {"m=99999999999999999999", "m=99999999999999999999: does not fit 64 bits"},
        {"m=-99999999999999999999", "does not fit 64 bits"},
        {"m=0000000000000000000000000000000000000000000000000000000000000000016", "longer than any integer"},
        {"k=40", "k=40: k must be a multiple of 16"},
        {"k=8", "k=8: k must be in 16 to 1048576"},
        {"q=1", "no axis \"q\"; the axes are m n k"},
        {"mm=1", "no axis \"mm\"; the axes are m n k"},
        {"m=1,n=2,m=3", "axis \"m\" is given twice"},
        {"m", "\"m\" is not axis=value"},
        {"=1", "\"=1\" is not axis=value"},
        {"", "\"\" is not axis=value"},
        {"m=1,", "\"\" is not axis=value"},
        {"m=1,,n=2", "\"\" is not axis=value"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t dim[] = {7, 8, 16};
        struct ridge_error err = {""};
        if (shape_parse(&family, bad[i].text, dim, &err) != RIDGE_INVALID || !strstr(err.text, bad[i].message))
            fail_msg("\"%s\" gave \"%s\", expected \"%s\"", bad[i].text, err.text, bad[i].message);
        assert_int_equal(dim[0], 7); /* nothing is taken over from a text with an error */
        assert_int_equal(dim[1], 8);
    }
}

static void family_rules_are_asked_last(void **state)
{
    (void)state;
    struct ridge_family strict = family;
    struct ridge_error err = {""};
    strict.shape_error = shape_error;
    assert_int_equal(shape_validate(&strict, (const int64_t[]){2, 2, 16}, &err), RIDGE_OK);
    assert_int_equal(shape_validate(&strict, (const int64_t[]){1, 2, 16}, &err), RIDGE_INVALID);
    assert_string_equal(err.text, "shape: m=1 must be at least n");
    assert_int_equal(shape_validate(&strict, (const int64_t[]){1, 2, 17}, &err), RIDGE_INVALID);
    assert_non_null(strstr(err.text, "k=17"));
}

static void bytes_of_absurd_shapes_do_not_overflow(void **state)
{
    (void)state;
    assert_true(shape_bytes(&family, (const int64_t[]){128, 256, 64}) == 128 * 64 * 2.0 + 128 * 256 * 4.0);
    assert_true(shape_bytes(&family, (const int64_t[]){INT64_MAX, 4096, 1 << 20}) > 1e25);
}

static void dtypes(void **state)
{
    (void)state;
    assert_int_equal(dtype_bytes(RIDGE_F64), 8);
    assert_int_equal(dtype_bytes(RIDGE_BF16), 2);
    assert_int_equal(dtype_bytes(RIDGE_E4M3), 1);
    assert_int_equal(dtype_bytes(RIDGE_U8), 1);
    assert_string_equal(dtype_name(RIDGE_BF16), "bf16");
    assert_string_equal(dtype_name(RIDGE_U8), "u8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_named_and_the_rest_kept),
        cmocka_unit_test(names_say_for_which_families_a_shape_is),
        cmocka_unit_test(bad_values_name_axis_value_and_rule),
        cmocka_unit_test(family_rules_are_asked_last),
        cmocka_unit_test(bytes_of_absurd_shapes_do_not_overflow),
        cmocka_unit_test(dtypes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The error table of kernels/quantise_1x128/README.md is what the code gives today. `test_block_scale_errors --update`,
 * from the source folder, rewrites it. Bounds that follow from e4m3 hold beside it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kernels/support/block_scale.h"
#include "tests/document_table.h"

enum { VALUES = 1 << 20 };

static const char *const rule_names[BLOCK_SCALE_RULES] = {"FP32", "UE8M0"};
static const char *const data_names[BLOCK_SCALE_DATA] = {"normal", "outliers", "small"};
static const int sides[] = {1, 128};

static void write_table(char *text)
{
    int at = snprintf(text, DOCUMENT_TEXT,
                      "| block | data | scale | RMS | largest, of amax | largest, of the value | to zero |\n"
                      "| --- | --- | --- | --- | --- | --- | --- |\n");
    for (int side = 0; side < 2; side++)
        for (int data = 0; data < BLOCK_SCALE_DATA; data++)
            for (int rule = 0; rule < BLOCK_SCALE_RULES; rule++) {
                struct block_scale_error error;
                block_scale_measure(rule, data, sides[side], VALUES / 128 / sides[side], 1, &error);
                at += snprintf(text + at, DOCUMENT_TEXT - (size_t)at,
                               "| %d x 128 | %s | %s | %.3f %% | %.3f %% | %.3f %% | %.3f %% |\n", sides[side],
                               data_names[data], rule_names[rule], 100 * error.rms, 100 * error.of_amax,
                               100 * error.of_value, 100 * error.underflow);
            }
}

static struct document_table table = {.path = "kernels/quantise_1x128/README.md",
                                      .begin = "<!-- table: tests/test_block_scale_errors.c -->\n",
                                      .write = write_table};

static void test_table(void **state)
{
    (void)state;
    assert_int_equal(document_compare(&table), 0);
}

/* Half a step at the top, 16: of an amax that became 448, or of one that a power of two left at 224 and up, where the
 * largest value that is half a step off is 272. Half a step of a normal code is 1/17 of the value, and 1/15 where it
 * rounds up to the least normal one. */
static void test_bounds(void **state)
{
    (void)state;
    for (int side = 0; side < 2; side++)
        for (int data = BLOCK_SCALE_NORMAL; data <= BLOCK_SCALE_OUTLIERS; data++) {
            struct block_scale_error f32, ue8m0;
            block_scale_measure(BLOCK_SCALE_F32, data, sides[side], 64 / sides[side] + 8, 7, &f32);
            block_scale_measure(BLOCK_SCALE_UE8M0, data, sides[side], 64 / sides[side] + 8, 7, &ue8m0);
            assert_true(f32.of_amax > 0.025 && f32.of_amax <= 16.0 / 448 * 1.000001);
            assert_true(ue8m0.of_amax > 0.025 && ue8m0.of_amax <= 16.0 / 272 * 1.000001);
            assert_true(f32.of_value <= 1.0 / 15 * 1.000001 && ue8m0.of_value <= 1.0 / 15 * 1.000001);
            assert_true(f32.rms > 0.01 && f32.rms < 0.03 && ue8m0.rms > 0.02 && ue8m0.rms < 0.03);
            assert_true(f32.underflow <= ue8m0.underflow);
        }
}

static void test_repeats(void **state)
{
    (void)state;
    struct block_scale_error first, again, other;
    block_scale_measure(BLOCK_SCALE_UE8M0, BLOCK_SCALE_SMALL, 1, 64, 3, &first);
    block_scale_measure(BLOCK_SCALE_UE8M0, BLOCK_SCALE_SMALL, 1, 64, 3, &again);
    block_scale_measure(BLOCK_SCALE_UE8M0, BLOCK_SCALE_SMALL, 1, 64, 4, &other);
    assert_memory_equal(&first, &again, sizeof first);
    assert_true(first.rms != other.rms && first.underflow > 0);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--update") == 0)
        return document_update(&table);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_repeats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

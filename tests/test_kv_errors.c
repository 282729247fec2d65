/* SPDX-License-Identifier: Apache-2.0 */
/* The error table of docs/kv-formats.md is what the code gives today. `test_kv_errors --update`, from the source
 * folder, rewrites it. Bounds that follow from the formats hold beside it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include "kernels/support/kv_format.h"
#include "tests/document_table.h"

enum { TOKENS = 512 };

static const struct {
    const char *name;
    enum kv_format format;
    enum kv_scale_rule rule;
} rows[] = {
    {"V3.2", KV_V32, KV_SCALE_FORMAT},         {"V3.2, exact scale", KV_V32, KV_SCALE_EXACT},
    {"MODEL1", KV_MODEL1, KV_SCALE_FORMAT},    {"V4.1 FP8", KV_V41_FP8, KV_SCALE_FORMAT},
    {"V4.1 FP4", KV_V41_FP4, KV_SCALE_FORMAT},
};
static const char *const data_names[KV_DATA] = {"normal", "outliers", "small", "tiny"};

static void write_table(char *text)
{
    int at = snprintf(text, DOCUMENT_TEXT,
                      "| format | bytes | data | RMS | maximum | to zero | RMS of BF16 |\n"
                      "| --- | --- | --- | --- | --- | --- | --- |\n");
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++)
        for (int data = 0; data < KV_DATA; data++) {
            struct kv_error error;
            char rope[32] = "";
            kv_measure_error(rows[row].format, rows[row].rule, data, TOKENS, 1, &error);
            if (kv_rope(rows[row].format))
                snprintf(rope, sizeof rope, "%.3f %%", 100 * error.rms_rope);
            at +=
                snprintf(text + at, DOCUMENT_TEXT - (size_t)at, "| %s | %d | %s | %.2f %% | %.2f %% | %.2f %% | %s |\n",
                         rows[row].name, kv_token_bytes(rows[row].format), data_names[data], 100 * error.rms_quantised,
                         100 * error.max_quantised, 100 * error.underflow, rope);
        }
}

static struct document_table table = {
    .path = "docs/kv-formats.md", .begin = "<!-- table: tests/test_kv_errors.c -->\n", .write = write_table};

static void test_table(void **state)
{
    (void)state;
    assert_int_equal(document_compare(&table), 0);
}

static void test_bounds(void **state)
{
    (void)state;
    struct kv_error error;
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++)
        for (int data = KV_NORMAL; data <= KV_OUTLIERS; data++) {
            kv_measure_error(rows[row].format, rows[row].rule, data, 64, 7, &error);
            /* Half a step at the top: e4m3 16, of an amax from 272 on, or of 448 with an exact scale; e2m1 1, of an
             * amax from 17/3 on. */
            double bound = rows[row].format == KV_V41_FP4     ? 3.0 / 17
                           : rows[row].rule == KV_SCALE_EXACT ? 16.0 / 448
                                                              : 16.0 / 272;
            assert_true(error.max_quantised > bound / 2 && error.max_quantised <= bound * (1 + 1e-6));
            double low = rows[row].format == KV_V41_FP4 ? 0.07 : 0.01,
                   high = rows[row].format == KV_V41_FP4 ? 0.12 : 0.03;
            assert_true(error.rms_quantised > low && error.rms_quantised < high);
            if (kv_rope(rows[row].format))
                assert_true(error.rms_rope > 1e-3 && error.rms_rope < 0x1p-9); /* half a step of BF16 */
            else
                assert_true(error.rms_rope == 0);
        }
    kv_measure_error(KV_V41_FP4, KV_SCALE_FORMAT, KV_TINY, 4, 7, &error);
    assert_true(error.rms_quantised == 1 && error.max_quantised == 1 && error.underflow > 0.99);
    kv_measure_error(KV_V32, KV_SCALE_FORMAT, KV_NORMAL, 0, 7, &error);
    assert_true(error.rms_quantised == 0 && error.rms_rope == 0 && error.max_quantised == 0 && error.underflow == 0);
}

static void test_repeats(void **state)
{
    (void)state;
    struct kv_error first, again, other;
    kv_measure_error(KV_MODEL1, KV_SCALE_FORMAT, KV_OUTLIERS, 8, 3, &first);
    kv_measure_error(KV_MODEL1, KV_SCALE_FORMAT, KV_OUTLIERS, 8, 3, &again);
    kv_measure_error(KV_MODEL1, KV_SCALE_FORMAT, KV_OUTLIERS, 8, 4, &other);
    assert_memory_equal(&first, &again, sizeof first);
    assert_true(first.rms_quantised != other.rms_quantised);
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

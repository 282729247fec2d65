/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/format.h"
#include "reports/grid.h"

static void test_numbers(void **state)
{
    (void)state;
    assert_string_equal(format_digits(0.0, 3).s, "0");
    assert_string_equal(format_digits(NAN, 3).s, "-");
    assert_string_equal(format_digits(INFINITY, 3).s, "-");
    assert_string_equal(format_digits(1234.6, 3).s, "1235");
    assert_string_equal(format_digits(9.996, 3).s, "10.0");
    assert_string_equal(format_digits(9.994, 3).s, "9.99");
    assert_string_equal(format_digits(100.0, 3).s, "100");
    assert_string_equal(format_digits(0.012345, 3).s, "0.0123");
    assert_string_equal(format_digits(-2.5, 2).s, "-2.5");
    assert_string_equal(format_digits(1e-9, 3).s, "1e-09");
}

static void test_units(void **state)
{
    (void)state;
    assert_string_equal(format_time_ns(0.5).s, "0.5000 ns");
    assert_string_equal(format_time_ns(12345).s, "12.35 us");
    assert_string_equal(format_time_ns(2.5e9).s, "2.500 s");
    assert_string_equal(format_time_ns(NAN).s, "-");
    assert_string_equal(format_si(4.543e12, "B/s").s, "4.54 TB/s");
    assert_string_equal(format_si(1e9, "B").s, "1.00 GB");
    assert_string_equal(format_si(0.5, "B").s, "0.500 B");
    assert_string_equal(format_percent(0.8734).s, "87.3 %");
    assert_string_equal(format_percent(0.0012).s, "0.12 %");
    assert_string_equal(format_percent(NAN).s, "-");
    assert_string_equal(format_factor(1.8449).s, "1.84x");
}

/* Columns without content are left out; Markdown's own characters are escaped. */
static void test_grid(void **state)
{
    (void)state;
    struct grid grid = {0};
    grid_column(&grid, "name", false);
    grid_column(&grid, "nothing", true);
    grid_column(&grid, "value", true);
    const char *const cells[] = {"a|b", "-", "1", "< quantum", "", "22"};
    for (size_t i = 0; i < 6; i++)
        grid_cell(&grid, cells[i]);
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(grid_print(&grid, out, NULL), 0);
    fclose(out);
    assert_string_equal(text, "name       value\na|b            1\n< quantum     22\n");
    free(text);
    out = open_memstream(&text, &bytes);
    assert_int_equal(grid_print_markdown(&grid, out, NULL), 0);
    fclose(out);
    assert_string_equal(text, "| name | value |\n|---|--:|\n| a\\|b | 1 |\n| \\< quantum | 22 |\n\n");
    free(text);
    grid_free(&grid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_grid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The real CUPTI host API without a GPU: every built-in group is valid for GH100, in a known number of passes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "profiles/counters.h"

static void every_group_is_valid(void **state)
{
    static const struct {
        const char *name;
        size_t passes;
    } expected[] = {{"roofline", 2}, {"memory", 7}, {"tensor", 3}, {"stalls", 10}, {"instructions", 9}};
    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        struct metric_group group;
        struct ridge_error err = {0};
        size_t passes = 0, again = 0;
        assert_int_equal(metric_group_load(expected[i].name, &group, &err), RIDGE_OK);
        if (counters_validate(&group, &passes, &err) != RIDGE_OK)
            fail_msg("%s: %s", expected[i].name, err.text);
        printf("%s: %zu metrics in %zu passes\n", group.name, group.count, passes);
        /* Other releases of CUPTI may schedule otherwise, not worse. */
        assert_in_range(passes, 1, expected[i].passes);
        assert_int_equal(counters_validate(&group, &again, &err), RIDGE_OK);
        assert_int_equal(again, passes);
        metric_group_free(&group);
    }
}

static int validate_one(char *name, struct ridge_error *err)
{
    struct metric metric = {.name = name, .unit = "byte", .meaning = "m"};
    struct metric_group group = {.name = "g", .meaning = "m", .metric = &metric, .count = 1};
    size_t passes = 0;
    int status = counters_validate(&group, &passes, err);
    assert_int_equal(passes, status == RIDGE_OK ? 1 : 0);
    return status;
}

static void wrong_metrics_are_named(void **state)
{
    struct ridge_error err = {0};
    (void)state;
    assert_int_equal(validate_one("dram__bytes_reed.sum", &err), RIDGE_INVALID);
    assert_non_null(strstr(err.text, "dram__bytes_reed.sum"));
    assert_non_null(strstr(err.text, "GH100"));
    assert_int_equal(validate_one("dram__bytes_read", &err), RIDGE_INVALID);
    assert_int_equal(validate_one("dram__bytes_read.total", &err), RIDGE_INVALID);
    /* Counted by patching the code, which takes a second pass. */
    assert_int_equal(validate_one("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", &err), RIDGE_INVALID);
    assert_non_null(strstr(err.text, "needs 2 passes"));
    assert_int_equal(validate_one("dram__bytes_read.sum", &err), RIDGE_OK);
    assert_int_equal(validate_one(COUNTERS_ANCHOR, &err), RIDGE_OK);
}

static void collecting_needs_a_device(void **state)
{
    struct metric metric = {.name = "dram__bytes_read.sum", .unit = "byte", .meaning = "m"};
    struct metric_group group = {.name = "g", .meaning = "m", .metric = &metric, .count = 1};
    struct counters_result result;
    struct ridge_error err = {0};
    (void)state;
    assert_int_equal(counters_collect(&group, &(struct counters_work){0}, &result, &err), RIDGE_INVALID);
    assert_non_null(strstr(err.text, "validation only"));
    assert_null(result.value);
}

static void unknown_chip(void **state)
{
    struct ridge_error err = {0};
    size_t passes;
    (void)state;
    assert_int_equal(counters_open("GH999", &err), RIDGE_ENVIRONMENT);
    assert_non_null(strstr(err.text, "unknown chip GH999"));
    assert_non_null(strstr(err.text, "GH100"));
    assert_int_equal(counters_validate(&(struct metric_group){0}, &passes, &err), RIDGE_ENVIRONMENT);
}

int main(void)
{
#ifdef __SANITIZE_ADDRESS__
    puts("skip: CUPTI opens its host library with RTLD_DEEPBIND, which the address sanitizer refuses");
    return 77;
#endif
    struct ridge_error err = {0};
    if (counters_open("GH100", &err) != RIDGE_OK) {
        printf("skip: %s\n", err.text);
        return strstr(err.text, "missing") || strstr(err.text, "built without") || strstr(err.text, "too old") ? 77 : 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_group_is_valid),
        cmocka_unit_test(wrong_metrics_are_named),
        cmocka_unit_test(collecting_needs_a_device),
        cmocka_unit_test(unknown_chip),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    counters_close();
    return failed;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/compare.h"
#include "tests/compare_records.h"

struct sides {
    json_t *base[32], *now[32];
    struct record_list base_list, now_list;
    struct comparison result;
    struct ridge_error err;
    int status;
};

static void compare(struct sides *s)
{
    s->base_list = (struct record_list){.record = s->base};
    s->now_list = (struct record_list){.record = s->now};
    while (s->base[s->base_list.count])
        s->base_list.count++;
    while (s->now[s->now_list.count])
        s->now_list.count++;
    assert_int_equal(compare_build(&s->result, &s->base_list, &s->now_list, 0.02, &s->err), RIDGE_OK);
    s->status = compare_status(&s->result, &s->err);
}

static void release(struct sides *s)
{
    compare_free(&s->result);
    for (size_t i = 0; i < s->base_list.count; i++)
        json_decref(s->base[i]);
    for (size_t i = 0; i < s->now_list.count; i++)
        json_decref(s->now[i]);
}

static void test_same(void **state)
{
    (void)state;
    struct sides s = {.base = {record_of("01_a", 100e3, 0.005)}, .now = {record_of("01_a", 100.5e3, 0.005)}};
    compare(&s);
    assert_int_equal(s.status, RIDGE_OK);
    assert_int_equal(s.result.count[VERDICT_SAME], 1);
    assert_true(fabs(s.result.pair[0].raw.value - 1.005) <= 1e-6);
    assert_true(s.result.pair[0].raw.low >= 0.98 && s.result.pair[0].raw.high <= 1.02);
    release(&s);
}

static void test_slower_code(void **state)
{
    (void)state;
    struct sides s = {.base = {record_of("01_a", 100e3, 0.005)},
                      .now = {with_code(record_of("01_a", 105e3, 0.005), "2222222222222222")}};
    record_set_number(s.now[0], "variant.build.registers", 168);
    compare(&s);
    assert_int_equal(s.status, RIDGE_REGRESSION);
    assert_int_equal(s.result.pair[0].verdict, VERDICT_SLOWER);
    assert_false(s.result.pair[0].environment);
    assert_string_equal(s.result.pair[0].code, "other");
    assert_non_null(strstr(s.result.pair[0].note, "registers 64 -> 168"));
    assert_true(s.result.pair[0].raw.low > 1.02);
    release(&s);
}

static void test_slower_same_code(void **state)
{
    (void)state;
    struct sides s = {.base = {record_of("01_a", 100e3, 0.005)}, .now = {record_of("01_a", 105e3, 0.005)}};
    record_set_number(s.now[0], "clock.sm_mhz.median", 1800.0 / 1.05);
    compare(&s);
    assert_int_equal(s.status, RIDGE_OK);
    assert_int_equal(s.result.pair[0].verdict, VERDICT_SLOWER);
    assert_true(s.result.pair[0].environment);
    assert_true(fabs(s.result.pair[0].clock_ratio - 1.0) <= 1e-6);
    assert_non_null(strstr(s.result.pair[0].note, "same device code"));
    assert_non_null(strstr(s.result.pair[0].note, "equal at equal clock"));
    release(&s);
}

/* Without device code one commit is one code, but only where neither build had other files in it. */
static void test_slower_same_commit(void **state)
{
    (void)state;
    for (int dirty = 0; dirty < 4; dirty++) {
        struct sides s = {.base = {with_code(record_of("h01_a", 100e3, 0.005), "")},
                          .now = {with_code(record_of("h01_a", 3100e3, 0.005), "")}};
        record_set(s.base[0], "run.dirty", json_boolean(dirty & 1));
        record_set(s.now[0], "run.dirty", json_boolean(dirty & 2));
        compare(&s);
        assert_int_equal(s.result.pair[0].verdict, VERDICT_SLOWER);
        assert_int_equal(s.result.pair[0].environment, dirty == 0);
        assert_int_equal(s.status, dirty ? RIDGE_REGRESSION : RIDGE_OK);
        release(&s);
    }
}

static void test_same_code_other_launch(void **state)
{
    (void)state;
    struct sides s = {.base = {record_of("01_a", 100e3, 0.005)}, .now = {record_of("01_a", 110e3, 0.005)}};
    record_set(s.now[0], "work.issued", json_pack("{s:f}", "flop_fp32", 600000.0));
    compare(&s);
    assert_int_equal(s.status, RIDGE_REGRESSION);
    assert_non_null(strstr(s.result.pair[0].note, "issued work differs"));
    release(&s);
}

static void test_faster(void **state)
{
    (void)state;
    struct sides s = {.base = {record_of("01_a", 100e3, 0.005)},
                      .now = {with_code(record_of("01_a", 90e3, 0.005), "2")}};
    compare(&s);
    assert_int_equal(s.status, RIDGE_OK);
    assert_int_equal(s.result.pair[0].verdict, VERDICT_FASTER);
    release(&s);
}

static void test_inconclusive(void **state)
{
    (void)state;
    struct sides s = {.base = {record_of("01_a", 100e3, 0.4)}, .now = {with_code(record_of("01_a", 103e3, 0.4), "2")}};
    compare(&s);
    assert_int_equal(s.result.pair[0].verdict, VERDICT_INCONCLUSIVE);
    assert_int_equal(s.status, RIDGE_INCONCLUSIVE);
    release(&s);
}

static void test_too_few_samples(void **state)
{
    (void)state;
    struct sides s = {.base = {record_of("01_a", 100e3, 0.001)}, .now = {record_with("01_a", 150e3, 0.001, 5)}};
    compare(&s);
    assert_int_equal(s.result.pair[0].verdict, VERDICT_INCONCLUSIVE);
    assert_non_null(strstr(s.result.pair[0].note, "too few samples (40 and 5"));
    release(&s);
}

/* One inconclusive pair among 20 is 5 %: tolerated. Among 19 it is more. */
static void test_inconclusive_share(void **state)
{
    (void)state;
    for (int pairs = 19; pairs <= 20; pairs++) {
        struct sides s = {.status = 0};
        for (int i = 0; i < pairs; i++) {
            char label[16];
            snprintf(label, sizeof label, "%02d_a", i + 1);
            s.base[i] = record_of(label, 100e3, i ? 0.002 : 0.4);
            s.now[i] = record_of(label, 100e3, i ? 0.002 : 0.4);
        }
        compare(&s);
        assert_int_equal(s.result.count[VERDICT_INCONCLUSIVE], 1);
        assert_int_equal(s.status, pairs == 20 ? RIDGE_OK : RIDGE_INCONCLUSIVE);
        assert_true(fabs(s.result.level - (1.0 - 0.05 / pairs)) <= 1e-12);
        release(&s);
    }
}

/* The correction widens the intervals: the same pair alone and among many. */
static void test_multiplicity(void **state)
{
    (void)state;
    struct sides one = {.base = {record_of("01_a", 100e3, 0.05)}, .now = {record_of("01_a", 100e3, 0.05)}};
    struct sides many = {.status = 0};
    for (int i = 0; i < 25; i++) {
        char label[16];
        snprintf(label, sizeof label, "%02d_a", i + 1);
        many.base[i] = record_of(label, 100e3, 0.05);
        many.now[i] = record_of(label, 100e3, 0.05);
    }
    compare(&one);
    compare(&many);
    double narrow = log(one.result.pair[0].raw.high), wide = log(many.result.pair[0].raw.high);
    /* z(0.05 / 25) / z(0.05) = 3.0902 / 1.9600; half a quantum of 32 ns of each side is below both. */
    assert_true(fabs(wide / narrow - 3.0902 / 1.9600) <= 1e-3);
    release(&one);
    release(&many);
}

static void test_other_model_and_branch(void **state)
{
    (void)state;
    struct sides s = {.base = {record_of("01_a", 100e3, 0.005)}, .now = {record_of("01_a", 300e3, 0.005)}};
    record_set_string(s.now[0], "device.name", "NVIDIA H20");
    compare(&s);
    assert_int_equal(s.status, RIDGE_ENVIRONMENT);
    assert_non_null(strstr(s.result.pair[0].note, "device.name"));
    release(&s);

    struct sides t = {.base = {record_of("01_a", 100e3, 0.005)}, .now = {record_of("01_a", 100e3, 0.005)}};
    record_set_string(t.now[0], "device.driver", "570.10");
    compare(&t);
    assert_int_equal(t.status, RIDGE_ENVIRONMENT);
    assert_string_equal(t.result.pair[0].note, "driver branch 580 against 570");
    release(&t);

    struct sides u = {.base = {record_of("01_a", 100e3, 0.005)}, .now = {record_of("01_a", 100e3, 0.005)}};
    record_set_string(u.now[0], "time.clock", "kernel");
    compare(&u);
    assert_int_equal(u.status, RIDGE_ENVIRONMENT);
    release(&u);
}

/* 4 before 1: a regression beside a pair of another driver branch. 1 before 3. */
static void test_order_of_codes(void **state)
{
    (void)state;
    struct sides s = {.base = {record_of("01_a", 100e3, 0.005), record_of("02_b", 100e3, 0.005)},
                      .now = {with_code(record_of("01_a", 120e3, 0.005), "2"), record_of("02_b", 100e3, 0.005)}};
    record_set_string(s.now[1], "device.driver", "570.10");
    compare(&s);
    assert_int_equal(s.result.count[VERDICT_SLOWER], 1);
    assert_int_equal(s.status, RIDGE_ENVIRONMENT);
    release(&s);

    struct sides t = {.base = {record_of("01_a", 100e3, 0.005), record_of("02_b", 100e3, 0.4)},
                      .now = {with_code(record_of("01_a", 120e3, 0.005), "2"), record_of("02_b", 100e3, 0.4)}};
    compare(&t);
    assert_int_equal(t.result.count[VERDICT_INCONCLUSIVE], 1);
    assert_int_equal(t.status, RIDGE_REGRESSION);
    assert_int_equal(t.result.pair[0].verdict, VERDICT_SLOWER);
    release(&t);
}

static void test_missing_pairs(void **state)
{
    (void)state;
    struct sides s = {.base = {record_of("01_a", 100e3, 0.005), record_of("02_gone", 1e3, 0.005)},
                      .now = {record_of("01_a", 100e3, 0.005), record_of("03_new", 1e3, 0.005)}};
    compare(&s);
    assert_int_equal(s.status, RIDGE_OK);
    assert_int_equal(s.result.pairs, 1);
    assert_int_equal(json_array_size(s.result.only_base), 1);
    assert_non_null(strstr(json_string_value(json_array_get(s.result.only_base, 0)), "gemm_f32_02_gone"));
    assert_non_null(strstr(json_string_value(json_array_get(s.result.only_now, 0)), "gemm_f32_03_new"));
    release(&s);

    struct sides t = {.base = {record_of("01_a", 100e3, 0.005)}, .now = {record_of("02_b", 100e3, 0.005)}};
    compare(&t);
    assert_int_equal(t.status, RIDGE_ENVIRONMENT);
    assert_non_null(strstr(t.err.text, "nothing to compare"));
    release(&t);
}

static void test_broken_and_skipped(void **state)
{
    (void)state;
    struct sides s = {
        .base = {record_of("01_a", 100e3, 0.005), record_of("02_b", 100e3, 0.005), record_of("03_c", 1e5, 0.005)},
        .now = {record_of("01_a", 100e3, 0.005), record_of("02_b", 100e3, 0.005), record_of("03_c", 1e5, 0.005)}};
    record_set_string(s.now[0], "status", "fail");
    record_set_string(s.now[0], "reason", "element 3 of d is wrong");
    record_set(s.now[0], "time", json_null());
    record_set_string(s.now[1], "status", "skip");
    record_set_string(s.now[1], "reason", "needs sm_100");
    compare(&s);
    assert_int_equal(s.status, RIDGE_REGRESSION);
    assert_int_equal(s.result.pair[0].verdict, VERDICT_BROKEN);
    assert_string_equal(s.result.pair[0].note, "element 3 of d is wrong");
    assert_non_null(strstr(json_string_value(json_array_get(s.result.only_base, 0)), "needs sm_100"));
    release(&s);
}

/* Another unit runs everything 4 % slower: relative to the vendor variant nothing has changed. */
static void test_other_unit(void **state)
{
    (void)state;
    struct sides s = {
        .base = {record_of("01_a", 100e3, 0.002), record_of("02_b", 50e3, 0.002), record_of("90_lib", 80e3, 0.002)},
        .now = {record_of("01_a", 104e3, 0.002), with_code(record_of("02_b", 60e3, 0.002), "2"),
                record_of("90_lib", 83.2e3, 0.002)}};
    for (int i = 0; i < 3; i++)
        record_set_string(s.now[i], "device.uuid", "GPU-2");
    compare(&s);
    assert_int_equal(s.result.count[VERDICT_SAME], 1);
    assert_int_equal(s.result.count[VERDICT_REFERENCE], 1);
    assert_int_equal(s.result.count[VERDICT_SLOWER], 1);
    assert_string_equal(s.result.pair[0].variant, "gemm_f32_02_b");
    assert_true(fabs(s.result.pair[0].ratio.value - 1.2 / 1.04) <= 1e-6);
    assert_int_equal(s.status, RIDGE_REGRESSION);
    assert_non_null(
        strstr(s.result.notes, "another unit of NVIDIA H200: ratios of gemm_f32 are relative to its vendor"));
    release(&s);

    struct sides t = {.base = {record_of("01_a", 100e3, 0.002)}, .now = {record_of("01_a", 100e3, 0.002)}};
    record_set_string(t.now[0], "device.driver", "580.159.03");
    compare(&t);
    assert_int_equal(t.status, RIDGE_OK);
    assert_non_null(strstr(t.result.notes, "another driver patch of NVIDIA H200: ratios of gemm_f32 are raw"));
    release(&t);
}

static void test_below_quantum(void **state)
{
    (void)state;
    struct sides s = {.base = {record_of("01_a", 20, 0.0), record_of("02_b", 20, 0.0), record_of("03_c", 1e5, 0.002)},
                      .now = {record_of("01_a", 20, 0.0), record_of("02_b", 64, 0.0), record_of("03_c", 1e5, 0.002)}};
    compare(&s);
    assert_int_equal(s.result.skipped, 1);
    assert_int_equal(s.result.pairs, 2);
    assert_int_equal(s.result.pair[0].verdict, VERDICT_INCONCLUSIVE);
    assert_true(isnan(s.result.pair[0].raw.value));
    release(&s);
}

static void test_last_record_counts(void **state)
{
    (void)state;
    struct sides s = {.base = {record_of("01_a", 200e3, 0.002), record_of("01_a", 100e3, 0.002)},
                      .now = {record_of("01_a", 100e3, 0.002)}};
    compare(&s);
    assert_int_equal(s.status, RIDGE_OK);
    assert_int_equal(s.result.pairs, 1);
    release(&s);
}

static void test_host_of_another_model(void **state)
{
    (void)state;
    struct sides s = {.base = {record_of("h01_a", 1e6, 0.002), record_of("02_b", 1e5, 0.002)},
                      .now = {record_of("h01_a", 3e6, 0.002), record_of("02_b", 1e5, 0.002)}};
    record_set_string(s.base[0], "device.kind", "host");
    record_set_string(s.now[0], "device.kind", "host");
    record_set_string(s.base[0], "device.name", "CPU A");
    record_set_string(s.now[0], "device.name", "CPU B");
    compare(&s);
    assert_int_equal(s.result.count[VERDICT_NOT_COMPARABLE], 1);
    assert_int_equal(s.status, RIDGE_OK);
    release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_slower_code),
        cmocka_unit_test(test_slower_same_code),
        cmocka_unit_test(test_slower_same_commit),
        cmocka_unit_test(test_same_code_other_launch),
        cmocka_unit_test(test_faster),
        cmocka_unit_test(test_inconclusive),
        cmocka_unit_test(test_too_few_samples),
        cmocka_unit_test(test_inconclusive_share),
        cmocka_unit_test(test_multiplicity),
        cmocka_unit_test(test_other_model_and_branch),
        cmocka_unit_test(test_order_of_codes),
        cmocka_unit_test(test_missing_pairs),
        cmocka_unit_test(test_broken_and_skipped),
        cmocka_unit_test(test_other_unit),
        cmocka_unit_test(test_below_quantum),
        cmocka_unit_test(test_last_record_counts),
        cmocka_unit_test(test_host_of_another_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* --emulate without a GPU: which variants have a second compilation, what records of one say, what follows from them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/registry.h"
#include "bench/runner.h"
#include "bench/runner_record.h"
#include "roofline/emulation.h"

static void near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%.12g is not %.12g", value, expected);
}

static void every_second_compilation_has_a_first(void **state)
{
    (void)state;
    struct registry registry;
    int swapped = 0;
    assert_int_equal(registry_open(&registry, NULL), RIDGE_OK);
    registry_emulate(&registry);
    for (int i = 0; i < registry.count; i++) {
        const struct ridge_entry *plain = &ridge_builtin_entries[i], *entry = registry.entry[i];
        assert_string_equal(entry->family, plain->family);
        assert_string_equal(entry->label, plain->label);
        assert_int_equal(registry_emulates(entry), registry_emulated(plain));
        assert_false(registry_emulates(plain));
        if (!registry_emulates(entry))
            continue;
        swapped++;
        assert_ptr_equal(entry->problem, plain->problem);
        assert_ptr_not_equal(entry->variant, plain->variant);
        assert_string_not_equal(entry->file, plain->file); /* has a hash of its own */
    }
    assert_int_equal(swapped, ridge_emulated_entry_count);
    registry_close(&registry);
}

static void the_record_says_so(void **state)
{
    (void)state;
    struct registry registry;
    assert_int_equal(registry_open(&registry, NULL), RIDGE_OK);
    const struct ridge_entry *entry = registry.entry[0];
    while (entry->variant->kind != RIDGE_HOST)
        entry++;
    const struct device_info info = {.device = {.sms = 78}, .idle_sms = 54};
    const struct timer_quality timer = {0};
    struct runner runner = {.ops = &device_host, .info = &info, .timer = &timer, .modes = MODES_DEFAULT};
    runner.run_id = runner.counters_reason = "";
    runner.modes.emulate = EMULATE_H20;
    const int64_t *dim = entry->problem->check_dim[0];
    json_t *record = runner_skip(&runner, entry, dim);
    assert_true(record_is(record, "mode.emulate.requested", "h20"));
    assert_true(record_is(record, "status", "skip"));
    assert_true(record_is(record, "reason", "is not compiled for --emulate"));
    near(record_number(record, "device.sms"), 132);
    near(record_number(record, "mode.emulate.sms"), 78);
    json_decref(record);
    registry_close(&registry);
}

/* A ceiling or kernel of the given work and time, in seconds. */
static json_t *emulated(const char *family, const char *shape, int n, double flop, double bytes, double time)
{
    json_t *record = json_pack("{s{ss} s{s{ss} s{ss}} ss s{ss} s{ss s{si}} s{s{sf sf}} s{sf}}", "variant", "family",
                               family, "mode", "emulate", "requested", "h20", "fill", "requested", "random", "status",
                               "ok", "check", "status", "ok", "shape", "name", shape, "params", "n", n, "work",
                               "useful", "flop_bf16", flop, "bytes_hbm_read", bytes, "time", "median_ns", time * 1e9);
    assert_non_null(record);
    return record;
}

static void factors_and_intervals(void **state)
{
    (void)state;
    json_t *record[] = {
        emulated("ceiling_wgmma_bf16", "n8", 8, 120e12, 0, 1),     /* cannot be matched, does not count */
        emulated("ceiling_wgmma_bf16", "n16", 16, 155.4e12, 0, 1), /* 1.05 of 148 */
        emulated("ceiling_wgmma_bf16", "n64", 64, 140.6e12, 0, 1), /* 0.95 */
        emulated("ceiling_hbm_read", "a", 64, 0, 4.2e12, 1),
        emulated("ceiling_hbm_read", "b", 64, 0, 4.4e12, 1),   /* the best is the roof: 1.1 of 4 TB/s */
        emulated("mla_decode", "c", 64, 148e12, 1e12, 1.25),   /* tensor 0.8 of the time, memory 0.2 */
        emulated("mla_decode", "d", 64, 148e12, 3.2e12, 1.25), /* both */
        emulated("mla_decode", "e", 64, 1e12, 1e9, 1.25),      /* neither */
        emulated("gemm", "f", 64, 1e12, 1e9, 1.25),            /* FP8, for which there is no ceiling */
    };
    json_object_set_new(json_object_get(json_object_get(record[8], "work"), "useful"), "flop_fp8", json_real(296e12));
    const struct record_list list = {.record = record, .count = sizeof record / sizeof *record};
    struct emulation emulation;
    struct ridge_error err = {""};
    if (emulation_of(&list, &emulation, &err))
        fail_msg("%s", err.text);
    near(emulation.factor[RES_TENSOR_BF16].low, 0.95);
    near(emulation.factor[RES_TENSOR_BF16].high, 1.05);
    near(emulation.factor[RES_HBM].low, 1.1);
    near(emulation.factor[RES_HBM].high, 1.1);
    assert_true(isnan(emulation.factor[RES_TENSOR_FP8].low));
    assert_false(emulation_counts(record[0]));
    const double expected[][2] = {{0.95, 1.05}, {0.95, 1.1}, {1, 1}};
    for (int i = 0; i < 3; i++) {
        struct emulated_factor interval = emulation_interval(&emulation, record[5 + i]);
        near(interval.low, expected[i][0]);
        near(interval.high, expected[i][1]);
    }
    assert_true(isnan(emulation_interval(&emulation, record[8]).low));
    for (size_t i = 0; i < list.count; i++)
        json_decref(record[i]);
}

static void records_must_be_emulated_and_of_one_device(void **state)
{
    (void)state;
    json_t *record[] = {emulated("ceiling_hbm_read", "a", 64, 0, 4e12, 1),
                        emulated("ceiling_hbm_read", "a", 64, 0, 4e12, 1)};
    struct record_list list = {.record = record, .count = 2};
    struct emulation emulation;
    struct ridge_error err = {""};
    record_set_string(record[1], "mode.emulate.requested", "h30");
    assert_int_equal(emulation_of(&list, &emulation, &err), RIDGE_INVALID);
    assert_non_null(strstr(err.text, "both h20 and h30"));
    record_set_string(record[0], "mode.emulate.requested", "none");
    record_set_string(record[1], "mode.emulate.requested", "none");
    assert_int_equal(emulation_of(&list, &emulation, &err), RIDGE_INVALID);
    assert_non_null(strstr(err.text, "no record is emulated"));
    json_decref(record[0]);
    json_decref(record[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_second_compilation_has_a_first),
        cmocka_unit_test(the_record_says_so),
        cmocka_unit_test(factors_and_intervals),
        cmocka_unit_test(records_must_be_emulated_and_of_one_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

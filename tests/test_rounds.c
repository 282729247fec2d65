/* SPDX-License-Identifier: Apache-2.0 */
/* What the record of `ridge bench --rounds` takes over from earlier rounds. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "bench/record.h"
#include "bench/runner_record.h"

static json_t *round_of(const char *began, double error, double abs_error, int repeatable, const char *note,
                        const char *power, const char *throttle)
{
    json_t *record =
        json_pack("{s{ss} s{sf sf sb} s{ss} s{s{ss ss}} s{s[s]}}", "run", "time_utc", began, "check", "max_error",
                  error, "max_abs_error", abs_error, "repeatable", repeatable, "variant", "note", note, "mode", "power",
                  "verified", power, "evidence", throttle, "clock", "throttle", throttle);
    assert_non_null(record);
    return record;
}

static void what_concerns_all_samples_is_of_all_rounds(void **state)
{
    (void)state;
    json_t *first = round_of("1", 0.75, 1, 0, "algorithm 3", "unverified", "sw_power_cap");
    json_t *second = round_of("2", 0.25, 2, 1, "algorithm 5", "verified", "idle");
    json_t *third = round_of("3", 0.5, 0.5, 1, "algorithm 3", "verified", "idle");
    record_join(second, first);
    record_join(third, second);
    assert_true(record_is(third, "run.time_utc", "1"));
    assert_true(record_number(third, "check.max_error") == 0.75);
    assert_true(record_number(third, "check.max_abs_error") == 2);
    assert_true(json_is_false(record_get(third, "check.repeatable")));
    assert_true(record_is(third, "variant.note", "algorithm 3; in a later round algorithm 5"));
    assert_true(record_is(third, "mode.power.verified", "unverified"));
    assert_true(record_is(third, "mode.power.evidence", "sw_power_cap"));
    json_t *both = json_pack("[ss]", "idle", "sw_power_cap");
    assert_true(json_equal(record_get(third, "clock.throttle"), both));
    json_decref(both);
    json_decref(first);
    json_decref(second);
    json_decref(third);
}

static void rounds_that_are_alike_change_nothing_but_the_beginning(void **state)
{
    (void)state;
    json_t *first = round_of("1", 0.5, 1, 1, "", "verified", "idle"), *second = json_deep_copy(first);
    record_set_string(second, "run.time_utc", "2");
    record_join(second, first);
    assert_true(json_equal(first, second));
    json_decref(first);
    json_decref(second);

    json_t *bare = json_pack("{s{ss} sn sn}", "run", "time_utc", "1", "clock", "time"), *other = json_deep_copy(bare);
    record_join(other, bare); /* a host has no clock, and an interrupted round no time */
    assert_true(json_is_null(record_get(other, "clock")));
    json_decref(bare);
    json_decref(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_concerns_all_samples_is_of_all_rounds),
        cmocka_unit_test(rounds_that_are_alike_change_nothing_but_the_beginning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

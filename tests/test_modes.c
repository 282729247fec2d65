/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "bench/modes.h"
#include "bench/record.h"
#include "bench/runner.h"
#include "bench/runner_record.h"

static const struct ridge_family family = {
    .buffers = 3,
    .buffer = {{.name = "a"}, {.name = "b"}, {.name = "d"}},
};

static void the_default_is_cold(void **state)
{
    (void)state;
    struct modes modes = MODES_DEFAULT;
    struct ridge_error err = {""};
    assert_int_equal(modes.cache, CACHE_COLD);
    assert_int_equal(modes.cold_method, COLD_DIRTY);
    assert_int_equal(modes.launch, LAUNCH_STREAM);
    assert_int_equal(modes.power, POWER_BURST);
    assert_int_equal(modes.fill, FILL_RANDOM);
    assert_int_equal(modes_resolve(&modes, &family, &err), RIDGE_OK);
    assert_int_equal(modes.hot_mask, 0);
}

static void every_value_is_understood(void **state)
{
    (void)state;
    struct modes modes = MODES_DEFAULT;
    assert_int_equal(modes_parse_cold(&modes, "clean", NULL), RIDGE_OK);
    assert_int_equal(modes_parse_launch(&modes, "graph", NULL), RIDGE_OK);
    assert_int_equal(modes_parse_power(&modes, "steady", NULL), RIDGE_OK);
    assert_int_equal(modes_parse_fill(&modes, "zeros", NULL), RIDGE_OK);
    assert_int_equal(modes.cold_method, COLD_CLEAN);
    assert_int_equal(modes.launch, LAUNCH_GRAPH);
    assert_int_equal(modes.power, POWER_STEADY);
    assert_int_equal(modes.fill, FILL_ZEROS);
    assert_int_equal(modes_parse_emulate(&modes, "h20", NULL), RIDGE_OK);
    assert_int_equal(modes.emulate, EMULATE_H20);
    assert_int_equal(modes_parse_emulate(&modes, "none", NULL), RIDGE_OK);
    assert_int_equal(modes.emulate, EMULATE_NONE);
    assert_int_equal(modes_parse_cold(&modes, "dirty", NULL), RIDGE_OK);
    assert_int_equal(modes_parse_launch(&modes, "stream", NULL), RIDGE_OK);
    assert_int_equal(modes_parse_power(&modes, "burst", NULL), RIDGE_OK);
    assert_int_equal(modes_parse_fill(&modes, "ones", NULL), RIDGE_OK);
    assert_int_equal(modes.cold_method, COLD_DIRTY);
    assert_int_equal(modes.launch, LAUNCH_STREAM);
    assert_int_equal(modes.power, POWER_BURST);
    assert_int_equal(modes.fill, FILL_ONES);
}

static void cache_of_all_operands(void **state)
{
    (void)state;
    struct modes modes = MODES_DEFAULT;
    struct ridge_error err = {""};
    assert_int_equal(modes_parse_cache(&modes, "hot", &err), RIDGE_OK);
    assert_int_equal(modes.cache, CACHE_HOT);
    assert_string_equal(modes.cache_text, "hot");
    assert_int_equal(modes_resolve(&modes, &family, &err), RIDGE_OK);
    assert_int_equal(modes_parse_cache(&modes, "cold", &err), RIDGE_OK);
    assert_int_equal(modes.cache, CACHE_COLD);
    assert_string_equal(modes.cache_text, "cold");
}

static void cache_per_operand(void **state)
{
    (void)state;
    struct modes modes = MODES_DEFAULT;
    struct ridge_error err = {""};
    assert_int_equal(modes_parse_cache(&modes, "A=hot,b=cold,D=HOT", &err), RIDGE_OK);
    assert_int_equal(modes.cache, CACHE_COLD);
    assert_string_equal(modes.cache_text, "a=hot,b=cold,d=hot");
    assert_int_equal(modes_resolve(&modes, &family, &err), RIDGE_OK);
    assert_int_equal(modes.hot_mask, 5);
    assert_int_equal(modes_parse_cache(&modes, "b=hot", &err), RIDGE_OK);
    assert_int_equal(modes_resolve(&modes, &family, &err), RIDGE_OK);
    assert_int_equal(modes.hot_mask, 2);
    assert_int_equal(modes_parse_cache(&modes, "b=hot,table=cold", &err), RIDGE_OK);
    assert_int_equal(modes_resolve(&modes, &family, &err), RIDGE_INVALID);
    assert_non_null(strstr(err.text, "no operand \"table\"; the operands are a b d"));
}

typedef int (*parser)(struct modes *, const char *, struct ridge_error *);

static void bad_values_name_option_value_and_choice(void **state)
{
    (void)state;
    static const struct {
        parser parse;
        const char *text, *message;
    } bad[] = {
        {modes_parse_cold, "wet", "--cold wet: expected dirty, clean"},
        {modes_parse_launch, "", "--launch : expected stream, graph"},
        {modes_parse_launch, "Graph", "--launch Graph: expected"},
        {modes_parse_power, "max", "--power max: expected burst, steady"},
        {modes_parse_fill, "random ", "--fill random : expected random, ones, zeros, outliers"},
        {modes_parse_cache, "", "--cache : expected cold, hot, or operands"},
        {modes_parse_cache, "warm", "--cache warm: expected"},
        {modes_parse_cache, "a=warm", "--cache a=warm: expected"},
        {modes_parse_cache, "a", "--cache a: expected"},
        {modes_parse_cache, "=hot", "--cache =hot: expected"},
        {modes_parse_cache, "a=hot,", "--cache a=hot,: expected"},
        {modes_parse_cache, "cold,a=hot", "expected"},
        {modes_parse_cache, "a=hot,b=cold,A=cold", "operand \"A\" is given twice"},
        {modes_parse_cache, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=hot", "longer than 63"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct modes modes = MODES_DEFAULT;
        struct ridge_error err = {""};
        if (bad[i].parse(&modes, bad[i].text, &err) != RIDGE_INVALID || !strstr(err.text, bad[i].message))
            fail_msg("\"%s\" gave \"%s\", expected \"%s\"", bad[i].text, err.text, bad[i].message);
        assert_string_equal(modes.cache_text, "cold");
    }
}

static const char *cache_evidence(enum cache_state cache, int64_t flush_bytes, int64_t cache_bytes)
{
    static char text[200];
    const struct device_info info = {.device.l2_bytes = cache_bytes, .flush_bytes = flush_bytes};
    const struct runner runner = {.info = &info, .modes = {.cache = cache}};
    json_t *record = json_object();
    record_verify(record, &runner);
    snprintf(text, sizeof text, "%s", record_string(record, "mode.cache.evidence"));
    json_decref(record);
    return text;
}

static void a_flush_smaller_than_the_cache_is_evidence(void **state)
{
    (void)state;
    const char *leaves = "a flush of 2.684e+08 bytes leaves part of a last-level cache of 3.146e+08 as it was";
    assert_string_equal(cache_evidence(CACHE_COLD, 256 << 20, 300 << 20), leaves);
    assert_string_equal(cache_evidence(CACHE_COLD, 64 << 20, 32 << 20), "no DRAM counters");
    assert_string_equal(cache_evidence(CACHE_COLD, 0, 50 << 20), "no DRAM counters"); /* CUDA: four times L2 */
    assert_string_equal(cache_evidence(CACHE_HOT, 256 << 20, 300 << 20), "no DRAM counters");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_is_cold),
        cmocka_unit_test(every_value_is_understood),
        cmocka_unit_test(cache_of_all_operands),
        cmocka_unit_test(cache_per_operand),
        cmocka_unit_test(bad_values_name_option_value_and_choice),
        cmocka_unit_test(a_flush_smaller_than_the_cache_is_evidence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

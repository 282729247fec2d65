/* SPDX-License-Identifier: Apache-2.0 */
/* Stamps become spans and overlaps, without a GPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "bench/registry.h"
#include "bench/trace.h"

static trace_lane lanes[TRACE_CTAS * TRACE_LANES];
static int used[TRACE_CTAS * TRACE_LANES];

static void clear(void)
{
    memset(lanes, 0, sizeof lanes);
    memset(used, 0, sizeof used);
}

static void stamp(int lane, uint32_t clock, int phase, int edge)
{
    lanes[lane][used[lane]++] = (struct trace_event){clock, (uint16_t)phase, (uint16_t)edge};
}

static void span(int lane, uint32_t begin, uint32_t end, int phase)
{
    stamp(lane, begin, phase, 1);
    stamp(lane, end, phase, 2);
}

static void near(double value, double expected)
{
    if (!(fabs(value - expected) < 1e-12))
        fail_msg("%.15g is not %.15g", value, expected);
}

/* Clocks pass 2^32 on the way. */
static void two_warpgroups_overlap(void **state)
{
    (void)state;
    const uint32_t origin = 0xffffff00u;
    struct trace_spans spans;
    struct ridge_error err;
    clear();
    span(0, origin, origin + 400, trace_scores);
    span(0, origin + 400, origin + 800, trace_softmax);
    span(1, origin + 300, origin + 600, trace_softmax);
    stamp(1, origin + 600, trace_scores, 1);
    span(1, origin + 600, origin + 700, trace_keys); /* nothing is queued while keys are missing */
    stamp(1, origin + 1000, trace_scores, 2);
    assert_int_equal(trace_spans_of((const trace_lane *)lanes, &spans, &err), RIDGE_OK);
    assert_int_equal(spans.count, 5);
    near(spans.span[0].begin, 0);
    near(spans.span[1].end, 800);
    const struct trace_overlap overlap = trace_overlap_of(&spans, 0);
    near(overlap.cycles, 1000);
    near(overlap.phase[0][trace_scores], 0.4);
    near(overlap.phase[1][trace_scores], 0.4);
    near(overlap.phase[1][trace_keys], 0.1);
    near(overlap.queued, 0.7);  /* 0 to 400 and 700 to 1000 */
    near(overlap.softmax, 0.5); /* 300 to 800 */
    near(overlap.covered, 0.2); /* 300 to 400 and 700 to 800 */
    near(trace_overlap_of(&spans, 1).cycles, 0);

    json_t *about = json_object(), *json = trace_json(&spans, 1000, about),
           *events = json_object_get(json, "traceEvents");
    size_t complete = 0;
    for (size_t i = 0; i < json_array_size(events); i++)
        complete += strcmp(json_string_value(json_object_get(json_array_get(events, i), "ph")), "X") == 0;
    assert_int_equal(complete, 5);
    json_t *last = json_array_get(events, json_array_size(events) - 1);
    assert_string_equal(json_string_value(json_object_get(last, "name")), "scores");
    near(json_real_value(json_object_get(last, "ts")), 0.6);
    near(json_real_value(json_object_get(last, "dur")), 0.4);
    assert_int_equal(json_integer_value(json_object_get(last, "tid")), 3);
    json_decref(json);
    json_decref(about);
    trace_spans_free(&spans);
}

static void refused(const char *message)
{
    struct trace_spans spans;
    struct ridge_error err;
    assert_int_equal(trace_spans_of((const trace_lane *)lanes, &spans, &err), RIDGE_INVALID);
    assert_non_null(strstr(err.text, message));
    assert_null(spans.span);
}

static void stamps_that_cannot_be(void **state)
{
    (void)state;
    clear();
    refused("no stamps");
    stamp(2, 5, trace_values, 2);
    refused("CTA 0, warpgroup 2, stamp 0: values ends without a begin");
    clear();
    stamp(3, 5, trace_phases, 1);
    refused("CTA 1, warpgroup 0, stamp 0: phase 5, edge 1 is none");
}

/* A full log ends inside a span, which is left out. */
static void a_full_log(void **state)
{
    (void)state;
    struct trace_spans spans;
    struct ridge_error err;
    clear();
    stamp(0, 0, trace_scores, 1);
    for (uint32_t i = 1; used[0] + 2 <= TRACE_EVENTS; i++)
        span(0, 10 * i, 10 * i + 5, trace_keys);
    assert_int_equal(trace_spans_of((const trace_lane *)lanes, &spans, &err), RIDGE_OK);
    assert_int_equal(spans.count, (TRACE_EVENTS - 1) / 2);
    trace_spans_free(&spans);
}

static void every_traced_variant_has_an_ordinary_one(void **state)
{
    (void)state;
    for (int i = 0; i < ridge_traced_entry_count; i++) {
        const struct ridge_entry *traced = &ridge_traced_entries[i].entry;
        bool found = false;
        for (int j = 0; j < ridge_builtin_entry_count; j++)
            found |= strcmp(ridge_builtin_entries[j].family, traced->family) == 0 &&
                     strcmp(ridge_builtin_entries[j].label, traced->label) == 0 &&
                     ridge_builtin_entries[j].variant != traced->variant;
        assert_true(found);
        assert_non_null(ridge_traced_entries[i].trace->read);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_warpgroups_overlap),
        cmocka_unit_test(stamps_that_cannot_be),
        cmocka_unit_test(a_full_log),
        cmocka_unit_test(every_traced_variant_has_an_ordinary_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The sampler against simulated clocks. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bench/sampler.h"
#include "base/stats.h"

struct clock {
    uint64_t random;
    size_t drawn;
    double wall_ns;
    size_t fail_at;                              /* 0: never */
    double (*time_ns)(struct clock *, size_t i); /* i counts all draws */
};

static double uniform(struct clock *clock)
{
    clock->random = clock->random * 6364136223846793005u + 1442695040888963407u;
    return ((double)(clock->random >> 33) + 0.5) / 2147483648.0;
}

static double normal(struct clock *clock)
{
    return sqrt(-2 * log(uniform(clock))) * cos(6.283185307179586 * uniform(clock));
}

static int draw(void *ctx, struct sample *out, struct ridge_error *err)
{
    struct clock *clock = ctx;
    if (clock->fail_at && clock->drawn + 1 == clock->fail_at)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "launch %zu failed", clock->fail_at);
    out->event_ns = clock->time_ns(clock, clock->drawn++);
    out->wall_ns = clock->wall_ns;
    return RIDGE_OK;
}

static double quiet(struct clock *clock, size_t i)
{
    (void)i;
    return 10000 * (1 + 0.002 * normal(clock));
}

static double quantised(struct clock *clock, size_t i)
{
    (void)i;
    return 512 * floor(10000 * (1 + 0.0005 * normal(clock)) / 512 + 0.5);
}

static double bimodal(struct clock *clock, size_t i)
{
    (void)i;
    return (uniform(clock) < 0.5 ? 10000 : 12000) * (1 + 0.001 * normal(clock));
}

/* A clock that changes its state every 40 samples: each block alone looks quiet. */
static double two_states(struct clock *clock, size_t i)
{
    return (i / 40 % 2 ? 12000 : 10000) * (1 + 0.001 * normal(clock));
}

static double drifting(struct clock *clock, size_t i)
{
    return 10000 * (1 + 0.0005 * (double)i) * (1 + 0.001 * normal(clock));
}

static double warming(struct clock *clock, size_t i)
{
    return i < 5 ? 50000 : quiet(clock, i);
}

static double unread(struct clock *clock, size_t i)
{
    (void)clock;
    (void)i;
    return NAN;
}

static int polls_left;

static bool interrupted(void)
{
    return polls_left-- <= 0;
}

static const struct sampler_limits limits = {
    .min_samples = 20, .max_samples = 1000, .warmup = 5, .rel_ci = 0.005, .budget_ns = 1e12};

static struct sampler_result run(struct clock *clock, const struct sampler_limits *with)
{
    struct sampler_result result;
    struct ridge_error err = {""};
    if (sampler_run(with, draw, clock, NULL, &result, &err))
        fail_msg("%s", err.text);
    return result;
}

static struct stats stats_of_result(const struct sampler_result *result)
{
    double time_ns[1000];
    for (size_t i = 0; i < result->count; i++)
        time_ns[i] = result->sample[i].event_ns;
    return stats_of(time_ns, result->count, 1);
}

static void quiet_clock_stops_on_the_interval(void **state)
{
    (void)state;
    struct clock clock = {.random = 1, .wall_ns = 1e5, .time_ns = warming};
    struct sampler_result result = run(&clock, &limits);
    assert_int_equal(result.stop, SAMPLER_CI);
    assert_true(result.count >= 20 && result.count < 100);
    assert_int_equal(result.discarded, 5);
    assert_int_equal(clock.drawn, result.count + 5);
    struct stats stats = stats_of_result(&result);
    assert_true(stats.ci95[1] - stats.ci95[0] <= 0.005 * stats.median);
    if (!(fabs(stats.median / 10000 - 1) <= 0.003)) /* the slow first launches are not in it */
        fail_msg("median %g", stats.median);
    assert_true(isnan(result.sample[0].kernel_ns) && isnan(result.sample[0].sm_hz));
    sampler_free(&result);
    assert_null(result.sample);
}

static void one_sample_has_no_interval(void **state)
{
    (void)state;
    struct sampler_limits one = limits;
    one.min_samples = one.max_samples = 1;
    struct clock clock = {.random = 1, .wall_ns = 1e5, .time_ns = quiet};
    struct sampler_result result = run(&clock, &one);
    assert_int_equal(result.count, 1);
    assert_int_equal(result.stop, SAMPLER_MAX);
    sampler_free(&result);
}

static void quantised_timer_stops_at_the_minimum(void **state)
{
    (void)state;
    struct clock clock = {.random = 2, .wall_ns = 1e5, .time_ns = quantised};
    struct sampler_result result = run(&clock, &limits);
    assert_int_equal(result.stop, SAMPLER_CI);
    assert_int_equal(result.count, 20);
    sampler_free(&result);
}

static void bimodal_noise_is_not_narrow(void **state)
{
    (void)state;
    int early = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct clock clock = {.random = seed * 7919, .wall_ns = 1e5, .time_ns = bimodal};
        struct sampler_limits some = limits;
        some.max_samples = 300;
        struct sampler_result result = run(&clock, &some);
        assert_true(result.stop == SAMPLER_CI || result.stop == SAMPLER_MAX);
        early += result.stop == SAMPLER_CI;
        sampler_free(&result);
    }
    if (early > 4)
        fail_msg("%d of 200 runs on bimodal noise stopped early", early);

    struct clock clock = {.random = 3, .wall_ns = 1e5, .time_ns = bimodal};
    struct sampler_limits brief = limits;
    brief.budget_ns = 205 * 1e5;
    struct sampler_result result = run(&clock, &brief);
    assert_int_equal(result.stop, SAMPLER_BUDGET);
    assert_int_equal(result.count, 200);
    sampler_free(&result);
}

static void changing_states_and_drift_are_not_narrow(void **state)
{
    (void)state;
    struct sampler_limits longer = limits;
    longer.min_samples = 60; /* the first block fills most of it */
    struct clock clock = {.random = 4, .wall_ns = 1e5, .time_ns = two_states};
    struct sampler_result result = run(&clock, &longer);
    assert_int_equal(result.stop, SAMPLER_MAX);
    assert_int_equal(result.count, 1000);
    sampler_free(&result);

    clock = (struct clock){.random = 5, .wall_ns = 1e5, .time_ns = drifting};
    result = run(&clock, &limits);
    assert_int_equal(result.stop, SAMPLER_MAX);
    assert_int_equal(result.count, 1000);
    sampler_free(&result);
}

static void a_slow_launch_gives_the_least_samples(void **state)
{
    (void)state;
    struct clock clock = {.random = 6, .wall_ns = 5e9, .time_ns = quiet};
    struct sampler_limits brief = limits;
    brief.budget_ns = 1e9;
    struct sampler_result result = run(&clock, &brief);
    assert_int_equal(result.stop, SAMPLER_BUDGET);
    assert_int_equal(result.discarded, 1);
    assert_int_equal(result.count, SAMPLER_LEAST);
    sampler_free(&result);
}

static void a_clock_that_is_not_read_never_convinces(void **state)
{
    (void)state;
    struct clock clock = {.wall_ns = 1e5, .time_ns = unread};
    struct sampler_limits some = limits;
    some.max_samples = 50;
    struct sampler_result result = run(&clock, &some);
    assert_int_equal(result.stop, SAMPLER_MAX);
    assert_int_equal(result.count, 50);
    sampler_free(&result);
}

static void an_interruption_keeps_what_was_drawn(void **state)
{
    (void)state;
    struct ridge_error err;
    struct sampler_result result;
    for (int polls = 0; polls < 12; polls++) {
        struct clock clock = {.random = 7, .wall_ns = 1e5, .time_ns = quiet};
        polls_left = polls;
        assert_int_equal(sampler_run(&limits, draw, &clock, interrupted, &result, &err), RIDGE_OK);
        assert_int_equal(result.stop, SAMPLER_INTERRUPTED);
        assert_int_equal(result.discarded + result.count, clock.drawn);
        assert_true(result.count <= 12);
        sampler_free(&result);
    }
}

static void rounds_add_up(void **state)
{
    (void)state;
    struct ridge_error err;
    struct clock clock = {.random = 7, .wall_ns = 1e5, .time_ns = quiet};
    struct sampler_limits few = limits;
    few.min_samples = few.max_samples = 4;
    struct sampler_result all = {0}, round;
    double drawn[12];
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(sampler_run(&few, draw, &clock, NULL, &round, &err), RIDGE_OK);
        assert_int_equal(round.rounds, 1);
        for (size_t j = 0; j < 4; j++)
            drawn[4 * i + j] = round.sample[j].event_ns;
        round.stop = (enum sampler_stop)i;
        assert_int_equal(sampler_append(&all, &round, &err), RIDGE_OK);
        assert_null(round.sample);
        assert_int_equal(round.count, 0);
        assert_int_equal(all.stop, i);
    }
    polls_left = 0;
    assert_int_equal(sampler_run(&few, draw, &clock, interrupted, &round, &err), RIDGE_OK);
    assert_int_equal(round.count, 0);
    assert_int_equal(sampler_append(&all, &round, &err), RIDGE_OK); /* a round that drew nothing is none */
    assert_int_equal(all.stop, SAMPLER_INTERRUPTED);
    assert_int_equal(all.count, 12);
    assert_int_equal(all.discarded, 3 * limits.warmup);
    assert_int_equal(all.rounds, 3);
    for (size_t i = 0; i < 12; i++)
        assert_true(all.sample[i].event_ns == drawn[i]);
    sampler_free(&all);
}

static void a_failed_draw_ends_it(void **state)
{
    (void)state;
    struct ridge_error err;
    struct sampler_result result;
    for (size_t at = 1; at < 12; at += 5) { /* in the warm-up and after it */
        struct clock clock = {.random = 8, .wall_ns = 1e5, .time_ns = quiet, .fail_at = at};
        assert_int_equal(sampler_run(&limits, draw, &clock, NULL, &result, &err), RIDGE_ENVIRONMENT);
        assert_non_null(strstr(err.text, "failed"));
        assert_int_equal(result.count, 0);
        assert_null(result.sample);
    }
}

static void limits_that_contradict_each_other(void **state)
{
    (void)state;
    struct ridge_error err;
    struct sampler_result result;
    struct clock clock = {.random = 9, .wall_ns = 1e5, .time_ns = quiet};
    struct sampler_limits none = limits, crossed = limits;
    none.max_samples = none.min_samples = 0;
    crossed.min_samples = 2000;
    assert_int_equal(sampler_run(&none, draw, &clock, NULL, &result, &err), RIDGE_INVALID);
    assert_int_equal(sampler_run(&crossed, draw, &clock, NULL, &result, &err), RIDGE_INVALID);
    assert_non_null(strstr(err.text, "2000"));
    assert_int_equal(clock.drawn, 0);
}

static void stops_have_names(void **state)
{
    (void)state;
    assert_string_equal(sampler_stop_name(SAMPLER_CI), "ci");
    assert_string_equal(sampler_stop_name(SAMPLER_BUDGET), "budget");
    assert_string_equal(sampler_stop_name(SAMPLER_MAX), "max");
    assert_string_equal(sampler_stop_name(SAMPLER_INTERRUPTED), "interrupted");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quiet_clock_stops_on_the_interval),
        cmocka_unit_test(one_sample_has_no_interval),
        cmocka_unit_test(quantised_timer_stops_at_the_minimum),
        cmocka_unit_test(bimodal_noise_is_not_narrow),
        cmocka_unit_test(changing_states_and_drift_are_not_narrow),
        cmocka_unit_test(a_slow_launch_gives_the_least_samples),
        cmocka_unit_test(a_clock_that_is_not_read_never_convinces),
        cmocka_unit_test(an_interruption_keeps_what_was_drawn),
        cmocka_unit_test(rounds_add_up),
        cmocka_unit_test(a_failed_draw_ends_it),
        cmocka_unit_test(limits_that_contradict_each_other),
        cmocka_unit_test(stops_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

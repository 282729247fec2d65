/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/stats.h"

#define ASSERT_NEAR(value, expected, tolerance)                                                                        \
    do {                                                                                                               \
        if (!(fabs((value) - (expected)) <= (tolerance)))                                                              \
            fail_msg("%s is %.17g, expected %.17g", #value, (double)(value), (double)(expected));                      \
    } while (0)

static double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(*state >> 33) + 0.5) / 2147483648.0;
}

/* The figures are numpy.quantile's, whose default is type 7. */
static void quantiles_are_type_7(void **state)
{
    (void)state;
    const double x[] = {3.1, 1.2, 9.5, 4.4, 4.4, 7.7, 2.0, 8.8, 5.5, 6.6, 100.0};
    const double expected[][2] = {{0, 1.2},     {0.05, 1.6}, {0.1, 2.0},    {0.25, 3.75}, {0.5, 5.5},
                                  {0.75, 8.25}, {0.9, 9.5},  {0.95, 54.75}, {1, 100.0}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        ASSERT_NEAR(stats_quantile(x, 11, expected[i][0]), expected[i][1], 1e-12);
    ASSERT_NEAR(x[0], 3.1, 0); /* the input keeps its order */

    struct stats stats = stats_of(x, 11, 1);
    assert_int_equal(stats.n, 11);
    ASSERT_NEAR(stats.median, 5.5, 1e-12);
    ASSERT_NEAR(stats.mad, 2.4, 1e-12);
    ASSERT_NEAR(stats.p05, 1.6, 1e-12);
    ASSERT_NEAR(stats.p95, 54.75, 1e-12);

    const double even[] = {45, 10, 30, 20};
    stats = stats_of(even, 4, 1);
    ASSERT_NEAR(stats.median, 25, 1e-12);
    ASSERT_NEAR(stats.mad, 10, 1e-12);
    ASSERT_NEAR(stats.p05, 11.5, 1e-12);
    ASSERT_NEAR(stats.p95, 42.75, 1e-12);
}

static void nothing_is_said_of_nothing(void **state)
{
    (void)state;
    struct stats stats = stats_of(NULL, 0, 1);
    assert_int_equal(stats.n, 0);
    assert_true(isnan(stats.median) && isnan(stats.mad) && isnan(stats.p05) && isnan(stats.p95));
    assert_true(isnan(stats.ci95[0]) && isnan(stats.ci95[1]));
    assert_true(isnan(stats_quantile(NULL, 0, 0.5)));

    const double unread[] = {1, NAN, 3};
    assert_true(isnan(stats_of(unread, 3, 1).median));
    assert_true(isnan(stats_of(unread, 3, 1).ci95[1]));
}

static void one_sample_and_equal_samples(void **state)
{
    (void)state;
    const double one[] = {7}, equal[] = {4, 4, 4, 4, 4, 4};
    struct stats stats = stats_of(one, 1, 9);
    ASSERT_NEAR(stats.median, 7, 0);
    ASSERT_NEAR(stats.mad, 0, 0);
    assert_true(isnan(stats.ci95[0]) && isnan(stats.ci95[1]));
    stats = stats_of(equal, 6, 9);
    ASSERT_NEAR(stats.ci95[1] - stats.ci95[0], 0, 0);
}

static void interval_depends_on_seed_alone(void **state)
{
    (void)state;
    double x[101];
    uint64_t random = 5;
    for (size_t i = 0; i < 101; i++)
        x[i] = uniform(&random);
    struct stats a = stats_of(x, 101, 1), b = stats_of(x, 101, 1), c = stats_of(x, 101, 2);
    ASSERT_NEAR(a.ci95[0], b.ci95[0], 0);
    ASSERT_NEAR(a.ci95[1], b.ci95[1], 0);
    assert_true(a.ci95[0] <= a.median && a.median <= a.ci95[1]);
    ASSERT_NEAR(c.ci95[0], a.ci95[0], 0.05);
}

/* The exact distribution of a resampled median is binomial: P(median* <= x_(j)) = P(Bin(n, j/n) >= (n+1)/2). For
 * n = 25 its 2.5 and 97.5 % points are the 8th and the 18th sample. */
static void interval_matches_exact_bootstrap(void **state)
{
    (void)state;
    double x[25];
    for (int i = 0; i < 25; i++)
        x[(i * 7) % 25] = i + 1;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct stats stats = stats_of(x, 25, seed);
        ASSERT_NEAR(stats.ci95[0], 8, 1);
        ASSERT_NEAR(stats.ci95[1], 18, 1);
    }
}

static void interval_covers_the_true_median(void **state)
{
    (void)state;
    enum { TRIALS = 1000, N = 41 };
    int covered = 0;
    uint64_t random = 42;
    for (int trial = 0; trial < TRIALS; trial++) {
        double x[N];
        for (int i = 0; i < N; i++)
            x[i] = 100 - 5 * log(uniform(&random)); /* skewed, as times are; its median is 100 + 5 ln 2 */
        struct stats stats = stats_of(x, N, (uint64_t)trial);
        double truth = 100 + 5 * log(2);
        covered += stats.ci95[0] <= truth && truth <= stats.ci95[1];
    }
    if (covered < 0.92 * TRIALS || covered > 0.98 * TRIALS)
        fail_msg("the 95 %% interval covered the median in %d of %d trials", covered, TRIALS);
}

static void ratio_of_medians(void **state)
{
    (void)state;
    const double a[] = {10, 10, 10}, b[] = {11, 11, 11, 11};
    struct stats_interval ratio = stats_median_ratio(a, 3, b, 4, 0.95, 1);
    ASSERT_NEAR(ratio.value, 1.1, 1e-12);
    ASSERT_NEAR(ratio.low, 1.1, 1e-12);
    ASSERT_NEAR(ratio.high, 1.1, 1e-12);

    int covered = 0;
    uint64_t random = 7;
    for (int trial = 0; trial < 400; trial++) {
        double base[31], new[25];
        for (int i = 0; i < 31; i++)
            base[i] = 100 + 10 * uniform(&random);
        for (int i = 0; i < 25; i++)
            new[i] = 0.8 * (100 + 10 * uniform(&random));
        ratio = stats_median_ratio(base, 31, new, 25, 0.95, (uint64_t)trial);
        struct stats_interval narrow = stats_median_ratio(base, 31, new, 25, 0.5, (uint64_t)trial);
        assert_true(ratio.low <= narrow.low && narrow.high <= ratio.high);
        covered += ratio.low <= 0.8 && 0.8 <= ratio.high;
    }
    if (covered < 364 || covered > 396)
        fail_msg("the 95 %% interval covered the ratio in %d of 400 trials", covered);
    assert_true(isnan(stats_median_ratio(a, 0, b, 4, 0.95, 1).low));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_type_7),
        cmocka_unit_test(nothing_is_said_of_nothing),
        cmocka_unit_test(one_sample_and_equal_samples),
        cmocka_unit_test(interval_depends_on_seed_alone),
        cmocka_unit_test(interval_matches_exact_bootstrap),
        cmocka_unit_test(interval_covers_the_true_median),
        cmocka_unit_test(ratio_of_medians),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

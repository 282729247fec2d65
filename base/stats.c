/* SPDX-License-Identifier: Apache-2.0 */
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RESAMPLES = 1000 };

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A sorted copy; NULL for n == 0, without memory, or when a sample is NaN (then nothing can be said). */
static double *sorted_copy(const double *sample, size_t n)
{
    double *copy = n ? malloc(n * sizeof *copy) : NULL;
    if (!copy)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        if (isnan(sample[i])) {
            free(copy);
            return NULL;
        }
        copy[i] = sample[i];
    }
    qsort(copy, n, sizeof *copy, compare_doubles);
    return copy;
}

static double sorted_quantile(const double *sorted, size_t n, double q)
{
    double rank = q * (double)(n - 1);
    size_t low = (size_t)rank;
    size_t high = low + 1 < n ? low + 1 : low;
    return sorted[low] + (rank - (double)low) * (sorted[high] - sorted[low]);
}

double stats_quantile(const double *sample, size_t n, double q)
{
    double *sorted = sorted_copy(sample, n);
    double value = sorted ? sorted_quantile(sorted, n, q) : NAN;
    free(sorted);
    return value;
}

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Median of n draws with replacement. Draws are counted per rank of the sorted sample, so that the middle is found
 * by walking and nothing is sorted. `drawn` is n counters of scratch. */
static double resampled_median(const double *sorted, size_t n, uint32_t *drawn, uint64_t *state)
{
    memset(drawn, 0, n * sizeof *drawn);
    for (size_t i = 0; i < n; i++)
        drawn[((next_random(state) >> 32) * n) >> 32]++;
    size_t lower = (n - 1) / 2, upper = n / 2, seen = 0, rank = 0;
    while ((seen += drawn[rank]) <= lower)
        rank++;
    double middle = sorted[rank];
    while (seen <= upper)
        seen += drawn[++rank];
    return 0.5 * (middle + sorted[rank]);
}

/* The percentile interval of RESAMPLES values, which are sorted in place. */
static void percentile_interval(double *value, double level, double *low, double *high)
{
    qsort(value, RESAMPLES, sizeof *value, compare_doubles);
    *low = sorted_quantile(value, RESAMPLES, 0.5 * (1 - level));
    *high = sorted_quantile(value, RESAMPLES, 0.5 * (1 + level));
}

struct stats stats_of(const double *sample, size_t n, uint64_t seed)
{
    struct stats stats = {n, NAN, NAN, NAN, NAN, {NAN, NAN}};
    double value[RESAMPLES];
    double *sorted = sorted_copy(sample, n);
    double *deviation = malloc(n * sizeof *deviation + 1);
    uint32_t *drawn = malloc(n * sizeof *drawn + 1);
    if (!sorted || !deviation || !drawn)
        goto out;

    stats.median = sorted_quantile(sorted, n, 0.5);
    stats.p05 = sorted_quantile(sorted, n, 0.05);
    stats.p95 = sorted_quantile(sorted, n, 0.95);
    for (size_t i = 0; i < n; i++)
        deviation[i] = fabs(sorted[i] - stats.median);
    stats.mad = stats_quantile(deviation, n, 0.5);
    for (int i = 0; i < RESAMPLES; i++)
        value[i] = resampled_median(sorted, n, drawn, &seed);
    if (n > 1)
        percentile_interval(value, 0.95, &stats.ci95[0], &stats.ci95[1]);
out:
    free(sorted);
    free(deviation);
    free(drawn);
    return stats;
}

struct stats_interval stats_median_ratio(const double *a, size_t na, const double *b, size_t nb, double level,
                                         uint64_t seed)
{
    struct stats_interval ratio = {NAN, NAN, NAN};
    double value[RESAMPLES];
    double *sorted_a = sorted_copy(a, na), *sorted_b = sorted_copy(b, nb);
    uint32_t *drawn = malloc((na > nb ? na : nb) * sizeof *drawn + 1);
    if (!sorted_a || !sorted_b || !drawn)
        goto out;

    ratio.value = sorted_quantile(sorted_b, nb, 0.5) / sorted_quantile(sorted_a, na, 0.5);
    for (int i = 0; i < RESAMPLES; i++) {
        double base = resampled_median(sorted_a, na, drawn, &seed);
        value[i] = resampled_median(sorted_b, nb, drawn, &seed) / base;
    }
    percentile_interval(value, level, &ratio.low, &ratio.high);
out:
    free(sorted_a);
    free(sorted_b);
    free(drawn);
    return ratio;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Robust statistics of timing samples. Inputs need not be sorted and are not changed. */
#ifndef RIDGE_STATS_H
#define RIDGE_STATS_H

#include <stddef.h>
#include <stdint.h>

struct stats {
    size_t n;
    double median, mad, p05, p95; /* quantiles by linear interpolation (Hyndman-Fan type 7); mad unscaled */
    double ci95[2];               /* bootstrap percentile interval of the median, deterministic from the seed;
                                     NaN for one sample, which has none */
};

struct stats_interval {
    double value, low, high;
};

/* All NaN for n == 0. */
struct stats stats_of(const double *sample, size_t n, uint64_t seed);

/* Quantile q in [0, 1], type 7. NaN for n == 0. */
double stats_quantile(const double *sample, size_t n, double q);

/* median(b) / median(a) with a bootstrap interval at `level` (0.95). Both n >= 1. */
struct stats_interval stats_median_ratio(const double *a, size_t na, const double *b, size_t nb, double level,
                                         uint64_t seed);

#endif

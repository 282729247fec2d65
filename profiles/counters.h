/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hardware counters through CUPTI's range profiler (user range, user replay).
 *
 * A metric group is a JSON file under profiles/groups/: metrics with unit and a sentence of meaning each. A group is
 * packed into configurations that need one pass each, every one with the anchor sm__cycles_elapsed.avg, whose spread
 * over the configurations tells how alike the passes were.
 */
#ifndef RIDGE_COUNTERS_H
#define RIDGE_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define COUNTERS_ANCHOR "sm__cycles_elapsed.avg"

struct metric {
    char *name; /* CUPTI metric name, the key of its value */
    char *unit;
    char *meaning;
};

struct metric_group {
    char *name;
    char *meaning;
    struct metric *metric;
    size_t count;
};

/* "roofline" names a built-in group; a path with '/' or ending in .json is a file. RIDGE_INVALID names what is
 * wrong. Owned; metric_group_free. */
int metric_group_load(const char *name_or_path, struct metric_group *group, struct ridge_error *err);
void metric_group_free(struct metric_group *group);

/* Loads CUPTI. `chip` "GH100" needs no GPU and allows validation only; NULL takes the current CUDA device's chip,
 * of which an unknown one is an error. RIDGE_ENVIRONMENT with reason and remedy. */
int counters_open(const char *chip, struct ridge_error *err);
void counters_close(void);

/* Every metric is known to the chip; *passes is how many single-pass configurations the group needs. */
int counters_validate(const struct metric_group *group, size_t *passes, struct ridge_error *err);

/* What a measurement calls: prepare (restore inputs, set up the cache) is outside the range, launch inside. */
struct counters_work {
    int (*prepare)(void *ctx, struct ridge_error *err);
    int (*launch)(void *ctx, struct ridge_error *err);
    void *ctx;
};

struct counters_result {
    double *value; /* one per metric of the group, in its order; NaN where none came back. Owned. */
    size_t count;
    size_t passes;
    double spread; /* (largest - smallest) / median of the anchor over the passes */
};

/* RIDGE_ENVIRONMENT when the counters are denied, the profiler is held by another tool, ...: the text is the reason
 * that goes into the record. */
int counters_collect(const struct metric_group *group, const struct counters_work *work, struct counters_result *result,
                     struct ridge_error *err);
void counters_result_free(struct counters_result *result);

#ifdef __cplusplus
}
#endif

#endif

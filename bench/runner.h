/* SPDX-License-Identifier: Apache-2.0 */
/* Checks, times and counts one variant on one open problem, and makes its record. */
#ifndef RIDGE_RUNNER_H
#define RIDGE_RUNNER_H

#include <jansson.h>

#include "bench/device.h"
#include "bench/problem.h"
#include "bench/sampler.h"
#include "profiles/counters.h"

/* One invocation on one device. Everything is borrowed and outlives the runs. */
struct runner {
    const struct device_ops *ops;
    const struct device_info *info;
    const struct timer_quality *timer;
    struct modes modes;
    struct sampler_limits limits;
    const struct metric_group *group; /* NULL: no counters, for the reason in counters_reason */
    const char *counters_reason;
    bool time;    /* false: check only */
    bool foreign; /* variants of shared objects take part: the commit does not name all of the code */
    uint64_t seed;
    const char *run_id;
    int argc;
    char **argv;
    bool (*interrupted)(void);
};

void runner_id(char *id, size_t bytes); /* "20261130T041500Z-1a2b3c" */

/* A record of status skip when the variant does not support the device or shape, else NULL. */
json_t *runner_skip(const struct runner *runner, const struct ridge_entry *entry, const int64_t *dim);
json_t *runner_skipped(const struct runner *runner, const struct ridge_entry *entry, const int64_t *dim,
                       const char *reason);

/* Runs one variant on an open problem whose reference is computed. RIDGE_OK with a record (status ok or fail), or a
 * status when the machinery failed or the run was interrupted before a record could be made. `samples` holds what
 * earlier rounds drew, zeroed before the first; the record is of those and the new ones, which stay there for the
 * caller to free. NULL where there is one round. */
int runner_run(const struct runner *runner, struct problem *problem, const struct ridge_entry *entry,
               struct sampler_result *samples, json_t **record, struct ridge_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a record, for bench/runner.c. */
#ifndef RIDGE_RUNNER_RECORD_H
#define RIDGE_RUNNER_RECORD_H

#include "bench/runner.h"
#include "profiles/telemetry.h"

/* Everything known before the launch; status "ok", check "none", time and clock null, counters "none". */
json_t *record_begin(const struct runner *runner, const struct ridge_entry *entry, const int64_t *dim);
void record_work(json_t *record, const char *path, const struct ridge_work *work);
void record_check(json_t *record, const struct ridge_family *family, const struct check_result *check);
void record_time(json_t *record, const struct runner *runner, const struct sampler_result *samples);
void record_clock(json_t *record, const struct sampler_result *samples, const struct telemetry *telemetry, bool known);
void record_counters(json_t *record, const struct metric_group *group, const struct counters_result *result);
/* Takes over from the record of an earlier round what concerns its samples too: when the measurement began, the largest
 * error, throttle reasons, another algorithm, and a verdict on power that is not "verified". */
void record_join(json_t *record, const json_t *earlier);
/* mode.cache and mode.power against counters and throttle reasons. */
void record_verify(json_t *record, const struct runner *runner);

#endif

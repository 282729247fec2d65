/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel times from CUPTI activity records: from the first kernel's start to the last kernel's end of a span of
 * launches. CUPTI is found with dlopen; on a build or machine without it activity_open says why.
 * Activity tracing and the range profiler are not used at the same time: stop one before starting the other.
 */
#ifndef RIDGE_ACTIVITY_H
#define RIDGE_ACTIVITY_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct activity_span {
    uint64_t id;
    uint64_t start_ns, end_ns; /* of the device's clock; 0 if no kernel was seen */
    uint32_t kernels;
};

/* Loads CUPTI and enables kernel tracing. RIDGE_ENVIRONMENT with the reason. Call once before the launches. */
int activity_start(struct ridge_error *err);

/* Launches between push and pop on this thread belong to span `id` (any value; graph launches count as one). */
void activity_push(uint64_t id);
void activity_pop(void);

/* Waits for nothing: the caller has synchronised the device. Flushes and writes the spans seen since the last
 * collect, ordered by id; *count is how many there were, at most `capacity` are written. */
int activity_collect(struct activity_span *span, size_t capacity, size_t *count, struct ridge_error *err);

void activity_stop(void);

#endif

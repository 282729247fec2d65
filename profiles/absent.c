/* SPDX-License-Identifier: Apache-2.0 */
/* What a build without the CUDA toolkit has in place of CUPTI. */
#ifndef RIDGE_WITH_CUDA
#include "profiles/activity.h"
#include "profiles/counters.h"

static int absent(struct ridge_error *err)
{
    return ridge_fail(err, RIDGE_ENVIRONMENT, "built without the CUDA toolkit");
}

int activity_start(struct ridge_error *err)
{
    return absent(err);
}

void activity_push(uint64_t id)
{
    (void)id;
}

void activity_pop(void) {}

int activity_collect(struct activity_span *span, size_t capacity, size_t *count, struct ridge_error *err)
{
    (void)span, (void)capacity;
    *count = 0;
    return absent(err);
}

void activity_stop(void) {}

int counters_open(const char *chip, struct ridge_error *err)
{
    (void)chip;
    return absent(err);
}

void counters_close(void) {}

int counters_validate(const struct metric_group *group, size_t *passes, struct ridge_error *err)
{
    (void)group;
    *passes = 0;
    return absent(err);
}

int counters_collect(const struct metric_group *group, const struct counters_work *work, struct counters_result *result,
                     struct ridge_error *err)
{
    (void)group, (void)work;
    *result = (struct counters_result){0};
    return absent(err);
}

void counters_result_free(struct counters_result *result)
{
    *result = (struct counters_result){0};
}
#endif

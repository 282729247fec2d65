/* SPDX-License-Identifier: Apache-2.0 */
/* Checking one variant on an open problem. */
#include <math.h>
#include <stdio.h>

#include "bench/problem.h"

enum { GUARD_BYTE = 0xa5 };

static bool is_output(const struct problem *p, int i)
{
    return p->family->buffer[i].role != RIDGE_INPUT;
}

static int launch_from_reset(struct problem *p, const struct device_task *task, struct ridge_error *err)
{
    int status = problem_reset(p, err);
    if (status == RIDGE_OK)
        status = p->ops->launch(task, err);
    return status ? status : p->ops->sync(err);
}

static int check_guards(const struct problem *p, struct check_result *result, struct ridge_error *err)
{
    for (int i = 0; i < p->family->buffers; i++) {
        const char *block = p->block[i], *buffer = p->buffer[i];
        size_t before = (size_t)(buffer - block), after = p->block_bytes[i] - before - p->bytes[i];
        uint64_t head = 0, tail = 0;
        int status = p->ops->count_not(block, GUARD_BYTE, before, &head, err);
        if (status == RIDGE_OK)
            status = p->ops->count_not(buffer + p->bytes[i], GUARD_BYTE, after, &tail, err);
        if (status)
            return status;
        if (head + tail) {
            result->ok = false;
            snprintf(result->text, sizeof result->text, "wrote outside buffer %s: %llu bytes before, %llu after it",
                     p->family->buffer[i].name, (unsigned long long)head, (unsigned long long)tail);
        }
    }
    return RIDGE_OK;
}

static int check_outputs(const struct problem *p, struct check_result *result, struct ridge_error *err)
{
    for (int i = 0, output = 0; i < p->family->buffers; i++) {
        if (!is_output(p, i))
            continue;
        struct compare_result compared;
        int64_t columns = p->family->output_columns ? p->family->output_columns(p->dim) : 0;
        int status = p->ops->compare(p->buffer[i], p->family->buffer[i].dtype, p->ref[output], p->mag[output],
                                     p->count[i], columns > 0 && p->count[i] % columns == 0 ? columns : 0,
                                     &p->family->tolerance, &compared, err);
        if (status)
            return status;
        output++;
        result->rmse[i] = sqrt(compared.error_squares / (double)p->count[i]);
        result->ref_rms[i] = sqrt(compared.ref_squares / (double)p->count[i]);
        result->tiles += compared.tiles;
        result->max_abs = fmax(result->max_abs, compared.max_abs);
        if (!(compared.max_error <= result->max_error))
            result->max_error = compared.max_error;
        if (!(compared.max_error <= 1) && result->ok) {
            result->ok = false;
            snprintf(result->text, sizeof result->text,
                     "%s[%lld] is off by %.3g times the tolerance (tile RMS: worst %.3g, median %.3g)",
                     p->family->buffer[i].name, (long long)compared.at, compared.max_error, compared.worst_tile_rms,
                     compared.median_tile_rms);
        }
    }
    return RIDGE_OK;
}

int problem_checksum(const struct problem *p, bool outputs, uint64_t *total, struct ridge_error *err)
{
    *total = 0;
    for (int i = 0; i < p->family->buffers; i++) {
        uint64_t sum;
        if (is_output(p, i) != outputs)
            continue;
        int status = p->ops->checksum(p->buffer[i], p->bytes[i], &sum, err);
        if (status)
            return status;
        *total = *total * 31 + sum;
    }
    return RIDGE_OK;
}

int problem_check(struct problem *p, const struct device_task *task, struct check_result *result, struct ridge_error *err)
{
    *result = (struct check_result){.ok = true, .against = p->against};
    uint64_t first, second, inputs;
    int status = launch_from_reset(p, task, err);
    if (status == RIDGE_OK)
        status = check_outputs(p, result, err);
    if (status == RIDGE_OK)
        status = check_guards(p, result, err);
    if (status == RIDGE_OK)
        status = problem_checksum(p, true, &first, err);
    if (status == RIDGE_OK)
        status = launch_from_reset(p, task, err);
    if (status == RIDGE_OK)
        status = problem_checksum(p, true, &second, err);
    if (status == RIDGE_OK)
        status = problem_checksum(p, false, &inputs, err);
    if (status)
        return status;
    if (inputs != p->input_sum) {
        p->spoiled = true;
        result->ok = false;
        snprintf(result->text, sizeof result->text, "wrote into its inputs");
    }
    result->repeatable = first == second;
    if (!result->repeatable && !task->entry->variant->may_differ && result->ok) {
        result->ok = false;
        snprintf(result->text, sizeof result->text, "two launches on the same inputs gave different bits");
    }
    return RIDGE_OK;
}

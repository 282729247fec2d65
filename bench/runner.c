/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "bench/record.h"
#include "bench/registry.h"
#include "bench/runner_record.h"
#include "profiles/nvtx.h"

void runner_id(char *id, size_t bytes)
{
    time_t now = time(NULL);
    struct tm parts;
    char stamp[32];
    strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", gmtime_r(&now, &parts));
    snprintf(id, bytes, "%s-%x", stamp, (unsigned)getpid());
}

json_t *runner_skipped(const struct runner *runner, const struct ridge_entry *entry, const int64_t *dim,
                       const char *reason)
{
    json_t *record = record_begin(runner, entry, dim);
    record_set_string(record, "status", "skip");
    record_set_string(record, "reason", reason);
    return record;
}

json_t *runner_skip(const struct runner *runner, const struct ridge_entry *entry, const int64_t *dim)
{
    const struct ridge_variant *variant = entry->variant;
    const struct ridge_device *device = &runner->info->device;
    char reason[160];
    if (variant->kind == RIDGE_CUDA && (variant->min_cc > device->cc || (variant->min_cc >= 90 && device->cc / 10 != 9))) {
        snprintf(reason, sizeof reason, "built for compute capability %d.%d, the device has %d.%d", variant->min_cc / 10,
                 variant->min_cc % 10, device->cc / 10, device->cc % 10);
        return runner_skipped(runner, entry, dim, reason);
    }
    if (runner->modes.emulate && !registry_emulates(entry))
        return runner_skipped(runner, entry, dim, "is not compiled for --emulate");
    if (device->plan && !variant->plans)
        return runner_skipped(runner, entry, dim, "has no plans to choose from");
    const char *unsupported = variant->unsupported ? variant->unsupported(dim, device) : NULL;
    return unsupported ? runner_skipped(runner, entry, dim, unsupported) : NULL;
}

static int draw(void *ctx, struct sample *out, struct ridge_error *err)
{
    const struct runner *runner = ctx;
    return runner->ops->draw(out, err);
}

static int time_variant(const struct runner *runner, const struct device_task *task, struct sampler_result *samples,
                        json_t *record, struct ridge_error *err)
{
    struct sampler_result drawn = {0};
    struct telemetry telemetry;
    range_push("time");
    int status = runner->ops->begin(task, err);
    if (status == RIDGE_OK) {
        status = sampler_run(&runner->limits, draw, (void *)runner, runner->interrupted, &drawn, err);
        bool known = runner->info->device.kind == RIDGE_CUDA && telemetry_read(&telemetry);
        int ended = runner->ops->end(drawn.sample, drawn.count, status ? NULL : err);
        status = status ? status : ended;
        if (status == RIDGE_OK)
            status = sampler_append(samples, &drawn, err);
        if (status == RIDGE_OK && samples->count) {
            record_time(record, runner, samples);
            record_clock(record, samples, &telemetry, known);
        }
    }
    range_pop();
    sampler_free(&drawn);
    return status;
}

struct counting {
    const struct runner *runner;
    const struct device_task *task;
    struct problem *problem;
};

static int counting_prepare(void *ctx, struct ridge_error *err)
{
    const struct counting *counting = ctx;
    int status = problem_reset(counting->problem, err);
    if (status == RIDGE_OK && counting->runner->modes.cache == CACHE_HOT)
        status = counting->runner->ops->launch(counting->task, err);
    if (status == RIDGE_OK)
        status = counting->runner->ops->prepare(counting->task, err);
    return status ? status : counting->runner->ops->sync(err);
}

static int counting_launch(void *ctx, struct ridge_error *err)
{
    const struct counting *counting = ctx;
    int status = counting->runner->ops->launch(counting->task, err);
    return status ? status : counting->runner->ops->sync(err);
}

/* Counters that cannot be had leave their reason in the record; the time stays. */
static void count_variant(const struct runner *runner, const struct device_task *task, struct problem *problem,
                          json_t *record)
{
    struct counting counting = {runner, task, problem};
    struct counters_work work = {counting_prepare, counting_launch, &counting};
    struct counters_result result = {0};
    struct ridge_error reason;
    range_push("count");
    if (counters_collect(runner->group, &work, &result, &reason) == RIDGE_OK)
        record_counters(record, runner->group, &result);
    else
        record_set_string(record, "counters.reason", reason.text);
    counters_result_free(&result);
    range_pop();
}

static int measure(const struct runner *runner, struct problem *problem, const struct device_task *task,
                   struct sampler_result *samples, json_t *record, struct ridge_error *err)
{
    struct check_result check;
    range_push("check");
    int status = problem_check(problem, task, &check, err);
    range_pop();
    if (status)
        return status;
    record_check(record, problem->family, &check);
    if (!check.ok || !runner->time)
        return RIDGE_OK;
    status = time_variant(runner, task, samples, record, err);
    if (status == RIDGE_OK && runner->modes.launch == LAUNCH_GRAPH) /* says what replays found wrong */
        status = runner->ops->launch(task, err);
    if (status == RIDGE_OK)
        status = runner->ops->sync(err);
    if (status == RIDGE_OK && runner->group && !runner->interrupted())
        count_variant(runner, task, problem, record);
    else if (status == RIDGE_OK && runner->group)
        record_set_string(record, "counters.reason", "interrupted");
    if (status == RIDGE_OK)
        record_verify(record, runner);
    return status;
}

int runner_run(const struct runner *runner, struct problem *problem, const struct ridge_entry *entry,
               struct sampler_result *samples, json_t **out, struct ridge_error *err)
{
    const struct ridge_variant *variant = entry->variant;
    const struct ridge_device *device = &runner->info->device;
    struct ridge_error reason = {""};
    char message[256] = "";
    void *state = NULL;
    struct ridge_call call = {
        .dim = problem->dim,
        .buffer = problem->buffer,
        .buffer_bytes = problem->bytes,
        .stream = runner->ops->stream(),
        .device = device,
        .error = message,
        .error_bytes = sizeof message,
    };
    struct device_task task = {entry, &call, problem->bytes, &runner->modes};
    size_t workspace = variant->workspace_bytes ? variant->workspace_bytes(problem->dim, device) : 0;
    bool ready = false;
    struct sampler_result own = {0};
    json_t *record = NULL;

    range_push(entry->label);
    int status = problem_place(problem, variant, err);
    if (status == RIDGE_OK && workspace)
        status = runner->ops->alloc(&call.workspace, workspace, err);
    if (status)
        goto out;
    ready = !variant->setup || variant->setup(&call, &state) == 0;
    call.state = state;
    record = record_begin(runner, entry, problem->dim);
    if (ready) {
        const char *note = variant->describe ? variant->describe(state) : NULL;
        record_set_string(record, "variant.note", note ? note : "");
        status = measure(runner, problem, &task, samples ? samples : &own, record, &reason);
    } else if (device->plan) {
        status = ridge_fail(&reason, RIDGE_INVALID, "%s", message);
    } else {
        status = ridge_fail(&reason, RIDGE_REGRESSION, "setup failed: %s", message);
    }
    if (status == RIDGE_REGRESSION) { /* the fault of this variant: the others can go on */
        record_set_string(record, "status", "fail");
        record_set_string(record, "reason", reason.text);
        status = RIDGE_OK;
    } else if (status) {
        ridge_fail(err, status, "%s_%s: %s", entry->family, entry->label, reason.text);
    }
out:
    if (state && variant->teardown)
        variant->teardown(state);
    if (call.workspace)
        runner->ops->free(call.workspace);
    sampler_free(&own);
    range_pop();
    if (status) {
        json_decref(record);
        record = NULL;
    }
    *out = record;
    return status;
}

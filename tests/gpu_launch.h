/* SPDX-License-Identifier: Apache-2.0 */
/* Launches of variants on an open problem, for tests that look at their results themselves. */
#ifndef RIDGE_GPU_LAUNCH_H
#define RIDGE_GPU_LAUNCH_H

#include "tests/gpu_records.h"

#include "bench/problem.h"

static inline void must(int status, const struct ridge_error *err)
{
    if (status == RIDGE_OK)
        return;
    printf("FAIL: %s\n", err->text);
    exit(1);
}

/* Exits with 77 and the reason where no GPU has the instructions of Hopper's tensor cores. */
static inline void gpu_open_hopper(struct device_info *info)
{
    struct timer_quality timer;
    struct ridge_error err;
    gpu_required();
    must(device_cuda.open(info, &timer, &err), &err);
    if (info->device.cc < 90) {
        printf("skipped: no variant with tensor-core instructions for compute capability %d\n", info->device.cc);
        exit(SKIPPED);
    }
}

/* A variant of the family that needs them, and has them on the device. */
static inline bool gpu_on_hopper(const struct ridge_entry *entry, const char *family, const struct ridge_device *device)
{
    const struct ridge_variant *variant = entry->variant;
    return strcmp(entry->family, family) == 0 && variant->kind == RIDGE_CUDA && variant->min_cc >= 90 &&
           variant->min_cc <= device->cc;
}

/* Outputs are poisoned first. */
static inline void gpu_launch(struct problem *problem, const struct ridge_entry *entry)
{
    const struct ridge_variant *variant = entry->variant;
    struct ridge_error err;
    char message[256] = "";
    void *workspace = NULL;
    struct ridge_call call = {.dim = problem->dim,
                              .buffer = problem->buffer,
                              .buffer_bytes = problem->bytes,
                              .stream = device_cuda.stream(),
                              .device = problem->device,
                              .error = message,
                              .error_bytes = sizeof message};
    const struct modes modes = MODES_DEFAULT;
    const struct device_task task = {entry, &call, problem->bytes, &modes};
    const size_t bytes = variant->workspace_bytes ? variant->workspace_bytes(problem->dim, problem->device) : 0;
    must(device_cuda.alloc(&workspace, bytes + 1, &err), &err);
    call.workspace = workspace;
    if (variant->setup && variant->setup(&call, &call.state)) {
        printf("FAIL: %s_%s: %s\n", entry->family, entry->label, message);
        exit(1);
    }
    must(problem_reset(problem, &err), &err);
    must(device_cuda.launch(&task, &err), &err);
    must(device_cuda.sync(&err), &err);
    if (variant->teardown)
        variant->teardown(call.state);
    device_cuda.free(workspace);
}

#endif

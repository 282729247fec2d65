/* SPDX-License-Identifier: Apache-2.0 */
/* A hundred launches of every variant of the families below, by every plan, give the same bits: a race between stores
 * to shared memory and the tensor cores that read them shows as results that move. */
#include "tests/gpu_launch.h"
#include "tests/gpu_records.h"

#include "bench/registry.h"

#include <string.h>

#ifdef RIDGE_WITH_CUDA

enum { LAUNCHES = 100, MOST_PLANS = 8 };

/* 0, or 1 where a launch gave other bits than the first. */
static int repeat(struct problem *problem, const struct ridge_entry *entry, const char *plan)
{
    const struct ridge_variant *variant = entry->variant;
    struct ridge_device device = *problem->device;
    struct ridge_error err;
    char message[256] = "";
    void *workspace = NULL;
    struct ridge_call call = {.dim = problem->dim,
                              .buffer = problem->buffer,
                              .buffer_bytes = problem->bytes,
                              .stream = device_cuda.stream(),
                              .device = &device,
                              .error = message,
                              .error_bytes = sizeof message};
    const struct modes modes = MODES_DEFAULT;
    const struct device_task task = {entry, &call, problem->bytes, &modes};
    const size_t bytes = variant->workspace_bytes ? variant->workspace_bytes(problem->dim, &device) : 0;
    uint64_t first = 0, sum = 0;
    int launches = 0;
    device.plan = plan;
    must(device_cuda.alloc(&workspace, bytes + 1, &err), &err);
    call.workspace = workspace;
    if (variant->setup && variant->setup(&call, &call.state)) {
        printf("FAIL: %s: %s\n", entry->label, message);
        exit(1);
    }
    for (; launches < LAUNCHES && sum == first; launches++) {
        must(problem_reset(problem, &err), &err);
        must(device_cuda.launch(&task, &err), &err);
        must(problem_checksum(problem, true, &sum, &err), &err);
        first = launches ? first : sum;
    }
    if (variant->teardown)
        variant->teardown(call.state);
    device_cuda.free(workspace);
    if (sum != first)
        printf("FAIL: %s_%s %s: launch %d gave other bits than the first\n", entry->family, entry->label,
               plan ? plan : "", launches);
    return sum != first;
}

static int repeat_plans(const struct ridge_entry *entry, const struct ridge_device *device, const int64_t *dim)
{
    struct problem problem;
    struct ridge_error err;
    char plan[MOST_PLANS][RIDGE_PLAN_BYTES];
    int failures = 0;
    if (entry->variant->unsupported && entry->variant->unsupported(dim, device))
        return 0;
    must(problem_open(&problem, &device_cuda, device, entry->problem, dim, FILL_RANDOM, 0, 1, &err), &err);
    const int plans = entry->variant->plans ? entry->variant->plans(dim, device, plan, MOST_PLANS) : 0;
    for (int i = 0; i < plans || i == 0; i++)
        failures += repeat(&problem, entry, plans ? plan[i] : NULL);
    problem_close(&problem);
    return failures;
}

/* Shapes of a family; topk of several thousand, since a race once showed only after hundreds of blocks. */
struct shapes {
    const char *family;
    int least_cc; /* of variants: those below run for seconds */
    int64_t dim[3][RIDGE_MAX_AXES];
};

static const struct shapes all_shapes[] = {
    {"mla_decode", 0, {{16, 1, 2085, 16, 64}, {200, 1, 300, 8, 64}, {3, 2, 700, 64, 128}}},
    {"mla_decode_f16", 0, {{16, 1, 2085, 16, 64}, {200, 1, 300, 8, 64}, {3, 2, 700, 64, 128}}},
    {"mla_decode_sparse_fp8",
     90,
     {{4, 2, 128, 16384, 40000, 64}, {128, 1, 64, 512, 30000, 61}, {150, 2, 128, 256, 20000, 64}}},
    /* An odd number of blocks, more tiles of heads than CTAs, one block alone. */
    {"mla_prefill_sparse", 90, {{7, 1500, 65, 448, 576}, {300, 3000, 128, 192, 576}, {300, 900, 64, 64, 512}}},
    {"mla_decode_sparse_512",
     90,
     {{4, 2, 128, 16384, 40000, 64, 584}, {4, 2, 128, 16384, 40000, 64, 528}, {4, 2, 128, 16384, 40000, 64, 288}}},
};

static int repeat_shapes(const struct ridge_entry *entry, const struct ridge_device *device)
{
    const struct ridge_variant *variant = entry->variant;
    int failures = 0;
    if (variant->kind != RIDGE_CUDA || variant->min_cc > device->cc)
        return -1;
    for (size_t i = 0; i < sizeof all_shapes / sizeof *all_shapes; i++) {
        if (strcmp(entry->family, all_shapes[i].family) != 0 || variant->min_cc < all_shapes[i].least_cc)
            continue;
        for (int j = 0; j < 3; j++)
            failures += repeat_plans(entry, device, all_shapes[i].dim[j]);
        return failures;
    }
    return -1;
}

/* gpu_mla_repeat [part of a variant's full name] */
int main(int argc, char **argv)
{
    struct device_info info;
    struct timer_quality timer;
    struct ridge_error reason;
    int failures = 0, tried = 0;
    if (device_cuda.open(&info, &timer, &reason) != RIDGE_OK) {
        printf("skipped: %s\n", reason.text);
        return SKIPPED;
    }
    for (int i = 0; i < ridge_builtin_entry_count; i++) {
        const struct ridge_entry *entry = &ridge_builtin_entries[i];
        char name[128];
        snprintf(name, sizeof name, "%s_%s", entry->family, entry->label);
        const int failed = argc > 1 && !strstr(name, argv[1]) ? -1 : repeat_shapes(entry, &info.device);
        failures += failed > 0 ? failed : 0;
        tried += failed >= 0;
    }
    device_cuda.close();
    printf("%d variants, %d launches of each plan and shape, %d failures\n", tried, LAUNCHES, failures);
    return failures || !tried;
}

#else

int main(void)
{
    printf("skipped: built without CUDA\n");
    return SKIPPED;
}

#endif

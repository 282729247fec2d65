/* SPDX-License-Identifier: Apache-2.0 */
/* Variants that choose how long to sleep: one chooses badly, one well, one has a plan that gives a wrong result. */
#include "kernels/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double elements(const int64_t *dim)
{
    return (double)dim[0];
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    (void)buffer;
    for (int64_t i = 0; i < dim[0]; i++)
        ref[0][i] = mag[0][i] = 1;
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    work->bytes_hbm_write = 4.0 * (double)dim[0];
}

static const struct ridge_shape shape[] = {{"small", RIDGE_QUICK, RIDGE_HOST, {64}}};

static const struct ridge_family family = {
    .problem = "ones",
    .axes = 1,
    .axis = {{"n", 1, 1 << 20, 1, "elements"}},
    .buffers = 1,
    .buffer = {{"out", RIDGE_F32, RIDGE_OUTPUT, RIDGE_FILL_NORMAL, 1, elements}},
    .shape = shape,
    .shapes = 1,
    .reference = reference,
    .work = work,
};

static const char *const sleeps[] = {"30ms", "10ms", "20ms"};

/* Milliseconds; 0 where the plan is none. */
static int milliseconds(const struct ridge_device *device, int otherwise)
{
    char *end = NULL;
    const long value = device->plan ? strtol(device->plan, &end, 10) : otherwise;
    return !end || strcmp(end, "ms") == 0 ? (int)value : 0;
}

static int list(int first, char (*plan)[RIDGE_PLAN_BYTES], int max)
{
    int plans = 0;
    for (int i = 0; i < 3 && plans < max; i++)
        snprintf(plan[plans++], RIDGE_PLAN_BYTES, "%s", sleeps[(first + i) % 3]);
    return plans;
}

static int list_bad(const int64_t *dim, const struct ridge_device *device, char (*plan)[RIDGE_PLAN_BYTES], int max)
{
    (void)dim, (void)device;
    return list(0, plan, max);
}

static int list_good(const int64_t *dim, const struct ridge_device *device, char (*plan)[RIDGE_PLAN_BYTES], int max)
{
    (void)dim, (void)device;
    return list(1, plan, max);
}

static int setup(struct ridge_call *call, void **state)
{
    *state = NULL;
    if (milliseconds(call->device, 1) >= 1)
        return 0;
    snprintf(call->error, call->error_bytes, "plan %s: not a number of milliseconds, such as 10ms", call->device->plan);
    return 1;
}

static int run(const struct ridge_call *call, int otherwise, float wrong)
{
    const int sleep = milliseconds(call->device, otherwise);
    usleep((unsigned)sleep * 1000);
    for (int64_t i = 0; i < call->dim[0]; i++)
        ((float *)call->buffer[0])[i] = sleep == 20 ? wrong : 1;
    return 0;
}

static int launch_bad(const struct ridge_call *call)
{
    return run(call, 30, 1);
}

static int launch_good(const struct ridge_call *call)
{
    return run(call, 10, 1);
}

static int launch_wrong(const struct ridge_call *call)
{
    return run(call, 10, 2);
}

static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    (void)dim;
    work->flop_fp32 = milliseconds(device, 30);
}

static const struct ridge_variant bad = {.idea = "chooses the slowest",
                                         .source = "",
                                         .changes = "",
                                         .kind = RIDGE_HOST,
                                         .issued = issued,
                                         .setup = setup,
                                         .launch = launch_bad,
                                         .plans = list_bad};
static const struct ridge_variant good = {.idea = "chooses the fastest",
                                          .source = "",
                                          .changes = "",
                                          .kind = RIDGE_HOST,
                                          .setup = setup,
                                          .launch = launch_good,
                                          .plans = list_good};
static const struct ridge_variant wrong = {.idea = "one plan is wrong",
                                           .source = "",
                                           .changes = "",
                                           .kind = RIDGE_HOST,
                                           .setup = setup,
                                           .launch = launch_wrong,
                                           .plans = list_good};
static const struct ridge_variant none = {
    .idea = "nothing to choose", .source = "", .changes = "", .kind = RIDGE_HOST, .launch = launch_good};

static const struct ridge_entry entry[] = {
    {"sleeper", "h01_bad", __FILE__, &family, &bad, NULL},
    {"sleeper", "h02_good", __FILE__, &family, &good, NULL},
    {"sleeper", "h03_wrong", __FILE__, &family, &wrong, NULL},
    {"sleeper", "h04_none", __FILE__, &family, &none, NULL},
};

const struct ridge_plugin ridge_plugin = {RIDGE_ABI_VERSION, sizeof entry / sizeof *entry, entry};

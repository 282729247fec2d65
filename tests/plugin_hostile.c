/* SPDX-License-Identifier: Apache-2.0 */
/* Variants that go wrong in every way that only running them shows, each before one that is right: a fault must stay
 * with the variant whose it is. The family has no presets. */
#include "kernels/kernel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static double elements(const int64_t *dim)
{
    return (double)dim[0];
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    for (int64_t i = 0; i < dim[0]; i++)
        mag[0][i] = fabs(ref[0][i] = 2.0 * ((const float *)buffer[0])[i]);
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    work->bytes_hbm_read = work->bytes_hbm_write = 4.0 * (double)dim[0];
}

static const int64_t check_dim[][RIDGE_MAX_AXES] = {{100}};

static const struct ridge_family family = {
    .problem = "y = 2 x, FP32",
    .axes = 1,
    .axis = {{"n", 0, 1 << 20, 1, "elements"}},
    .buffers = 2,
    .buffer = {{"x", RIDGE_F32, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, elements},
               {"y", RIDGE_F32, RIDGE_OUTPUT, RIDGE_FILL_NORMAL, 1, elements}},
    .check_dim = check_dim,
    .check_dims = 1,
    .tolerance = {1e-6, 0, "test"},
    .reference = reference,
    .work = work,
};

static int launch_right(const struct ridge_call *call)
{
    for (int64_t i = 0; i < call->dim[0]; i++)
        ((float *)call->buffer[1])[i] = 2 * ((const float *)call->buffer[0])[i];
    return 0;
}

static int launch_nan(const struct ridge_call *call)
{
    launch_right(call);
    ((float *)call->buffer[1])[call->dim[0] / 2] = NAN;
    return 0;
}

static int launch_infinite(const struct ridge_call *call)
{
    launch_right(call);
    ((float *)call->buffer[1])[0] = INFINITY;
    return 0;
}

static int launch_outside(const struct ridge_call *call)
{
    launch_right(call);
    ((float *)call->buffer[1])[call->dim[0]] = 1;
    return 0;
}

static int launch_on_input(const struct ridge_call *call)
{
    launch_right(call);
    ((float *)call->buffer[0])[call->dim[0] - 1] = 1000; /* after its use: the output is right */
    return 0;
}

static int launch_refused(const struct ridge_call *call)
{
    snprintf(call->error, call->error_bytes, "n=%lld is not to my taste \xff", (long long)call->dim[0]);
    return 1;
}

static int launch_refused_later(const struct ridge_call *call)
{
    static int launches;
    return launches++ < 4 ? launch_right(call) : launch_refused(call);
}

static int launch_crash(const struct ridge_call *call)
{
    (void)call;
    abort();
}

static int launch_crash_later(const struct ridge_call *call)
{
    static int launches;
    return launches++ < 12 ? launch_right(call) : launch_crash(call);
}

static int launch_slow_later(const struct ridge_call *call)
{
    static int launches;
    while (launches >= 12)
        pause();
    launches++;
    return launch_right(call);
}

static int launch_slow(const struct ridge_call *call)
{
    usleep(300000);
    return launch_right(call);
}

static int setup_fails(struct ridge_call *call, void **state)
{
    (void)state;
    snprintf(call->error, call->error_bytes, "no such algorithm");
    return 1;
}

static const char *describe_nothing(void *state)
{
    (void)state;
    return NULL;
}

#define VARIANT(name, ...)                                                                                             \
    static const struct ridge_variant name = {                                                                         \
        .idea = #name, .source = "", .changes = "", .kind = RIDGE_HOST, __VA_ARGS__}
#define ENTRY(label, variant) {"hostile", label, __FILE__, &family, &variant, NULL}

VARIANT(right, .launch = launch_right, .describe = describe_nothing);
VARIANT(nan_value, .launch = launch_nan);
VARIANT(infinite, .launch = launch_infinite);
VARIANT(outside, .launch = launch_outside);
VARIANT(on_input, .launch = launch_on_input);
VARIANT(refused, .launch = launch_refused);
VARIANT(refused_later, .launch = launch_refused_later);
VARIANT(no_setup, .launch = launch_right, .setup = setup_fails);
VARIANT(crash, .launch = launch_crash);
VARIANT(slow, .launch = launch_slow);
VARIANT(crash_later, .launch = launch_crash_later);
VARIANT(slow_later, .launch = launch_slow_later);

static const struct ridge_entry entry[] = {
    ENTRY("h01_nan", nan_value),
    ENTRY("h02_right", right),
    ENTRY("h03_infinite", infinite),
    ENTRY("h04_right", right),
    ENTRY("h05_outside", outside),
    ENTRY("h06_right", right),
    ENTRY("h07_on_input", on_input),
    ENTRY("h08_right", right),
    ENTRY("h09_refused", refused),
    ENTRY("h10_right", right),
    ENTRY("h11_refused_later", refused_later),
    ENTRY("h12_right", right),
    ENTRY("h13_no_setup", no_setup),
    ENTRY("h14_right", right),
    ENTRY("h80_slow", slow),
    ENTRY("h81_crash", crash),
    ENTRY("h82_crash_later", crash_later),
    ENTRY("h83_slow_later", slow_later),
};

const struct ridge_plugin ridge_plugin = {RIDGE_ABI_VERSION, sizeof entry / sizeof *entry, entry};

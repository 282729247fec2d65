/* SPDX-License-Identifier: Apache-2.0 */
/* An outside kernel as a shared object: a family of its own with two host variants.
 *
 *     cc -O2 -shared -fPIC -I<source tree> plugin_example.c -o example.so
 *     ridge bench --load ./example.so --family example_saxpy --shape n=1000000
 *
 * A variant for a family that ridge already has leaves `problem` out (NULL). */
#include "kernels/kernel.h"

#include <math.h>

static double elements(const int64_t *dim)
{
    return (double)dim[0];
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    const float *x = buffer[0], *y = buffer[1];
    for (int64_t i = 0; i < dim[0]; i++) {
        ref[0][i] = 2.0 * x[i] + y[i];
        mag[0][i] = fabs(2.0 * x[i]) + fabs(y[i]);
    }
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    work->flop_fp32 = 2.0 * (double)dim[0];
    work->bytes_hbm_read = 8.0 * (double)dim[0];
    work->bytes_hbm_write = 4.0 * (double)dim[0];
}

static const struct ridge_shape shape[] = {
    {"small", RIDGE_QUICK, RIDGE_HOST, {1 << 16}},
    {"large", RIDGE_FULL, RIDGE_HOST, {1 << 22}},
};

static const int64_t check_dim[][RIDGE_MAX_AXES] = {{1}, {31}, {1000}};

static const struct ridge_family family = {
    .problem = "out[i] = 2 x[i] + y[i], FP32",
    .axes = 1,
    .axis = {{"n", 1, 1 << 28, 1, "elements"}},
    .buffers = 3,
    .buffer = {{"x", RIDGE_F32, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, elements},
               {"y", RIDGE_F32, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, elements},
               {"out", RIDGE_F32, RIDGE_OUTPUT, RIDGE_FILL_BITS, 1, elements}},
    .shape = shape,
    .shapes = sizeof shape / sizeof *shape,
    .check_dim = check_dim,
    .check_dims = sizeof check_dim / sizeof *check_dim,
    .tolerance = {0, 1.2e-7, "two roundings to FP32 of half a unit each"},
    .reference = reference,
    .work = work,
};

static int launch_simple(const struct ridge_call *call)
{
    const float *x = call->buffer[0], *y = call->buffer[1];
    float *out = call->buffer[2];
    for (int64_t i = 0; i < call->dim[0]; i++)
        out[i] = 2 * x[i] + y[i];
    return 0;
}

static int launch_unrolled(const struct ridge_call *call)
{
    const float *x = call->buffer[0], *y = call->buffer[1];
    float *out = call->buffer[2];
    int64_t n = call->dim[0], i = 0;
    for (; i + 4 <= n; i += 4)
        for (int j = 0; j < 4; j++)
            out[i + j] = 2 * x[i + j] + y[i + j];
    for (; i < n; i++)
        out[i] = 2 * x[i] + y[i];
    return 0;
}

static const struct ridge_variant simple = {
    .idea = "one loop", .source = "", .changes = "", .kind = RIDGE_HOST, .launch = launch_simple};
static const struct ridge_variant unrolled = {
    .idea = "four elements a step", .source = "", .changes = "unrolled", .kind = RIDGE_HOST, .launch = launch_unrolled};

static const struct ridge_entry entry[] = {
    {"example_saxpy", "h02_unrolled", __FILE__, &family, &unrolled, NULL},
    {"example_saxpy", "h01_simple", __FILE__, &family, &simple, NULL},
};

const struct ridge_plugin ridge_plugin = {RIDGE_ABI_VERSION, sizeof entry / sizeof *entry, entry};

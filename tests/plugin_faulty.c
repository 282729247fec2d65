/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin whose table lacks something or breaks a rule; which, $RIDGE_TEST_FAULT says. Without it, it is good. */
#include "kernels/kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double elements(const int64_t *dim)
{
    return (double)dim[0];
}

static double no_elements(const int64_t *dim)
{
    (void)dim;
    return 0;
}

static double nan_elements(const int64_t *dim)
{
    (void)dim;
    return NAN;
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    (void)buffer;
    for (int64_t i = 0; i < dim[0]; i++)
        ref[0][i] = mag[0][i] = 0;
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    work->bytes_hbm_write = 4.0 * (double)dim[0];
}

static int launch(const struct ridge_call *call)
{
    memset(call->buffer[0], 0, (size_t)call->dim[0] * sizeof(float));
    return 0;
}

static struct ridge_shape shape[] = {{"small", RIDGE_QUICK, RIDGE_HOST, {64}}};

static struct ridge_family family = {
    .problem = "zeros",
    .axes = 1,
    .axis = {{"n", 1, 1 << 20, 1, "elements"}, {"m", 1, 1, 1, "unused"}},
    .buffers = 1,
    .buffer = {{"out", RIDGE_F32, RIDGE_OUTPUT, RIDGE_FILL_NORMAL, 1, elements}},
    .shape = shape,
    .shapes = 1,
    .reference = reference,
    .work = work,
};

static struct ridge_variant variant = {
    .idea = "memset", .source = "", .changes = "", .kind = RIDGE_HOST, .launch = launch};

static struct ridge_entry entry[] = {{"faulty", "h01_zeros", __FILE__, &family, &variant, NULL}};

struct ridge_plugin ridge_plugin = {RIDGE_ABI_VERSION, 1, entry};

__attribute__((constructor)) static void break_something(void)
{
    const char *fault = getenv("RIDGE_TEST_FAULT");
#define FAULT(name) else if (strcmp(fault, name) == 0)
    if (!fault)
        return;
    FAULT("reference") family.reference = NULL;
    FAULT("work") family.work = NULL;
    FAULT("problem") family.problem = NULL;
    FAULT("no_axes") family.axes = 0;
    FAULT("many_axes") family.axes = RIDGE_MAX_AXES + 1;
    FAULT("axis_twice") family.axis[1].name = "n", family.axes = 2;
    FAULT("axis_null") family.axis[0].name = NULL;
    FAULT("axis_dot") family.axis[0].name = "n.m";
    FAULT("no_value") family.axis[0].min = 1 << 21;
    FAULT("no_buffers") family.buffers = 0;
    FAULT("many_buffers") family.buffers = RIDGE_MAX_BUFFERS + 1;
    FAULT("no_count") family.buffer[0].count = NULL;
    FAULT("dtype") family.buffer[0].dtype = (enum ridge_dtype)77;
    FAULT("fill") family.buffer[0].fill = RIDGE_FILL_CUSTOM, family.buffer[0].role = RIDGE_INOUT;
    FAULT("tolerance") family.tolerance.rel = -1;
    FAULT("tolerance_nan") family.tolerance.mag_rel = NAN;
    FAULT("no_presets") family.shape = NULL;
    FAULT("preset_name") shape[0].name = NULL;
    FAULT("level") shape[0].level = (enum ridge_level)9;
    FAULT("check_dims") family.check_dims = 3;
    FAULT("idea") variant.idea = NULL;
    FAULT("launch") variant.launch = NULL;
    FAULT("kind") variant.kind = (enum ridge_kind)5;
    FAULT("offset") variant.offset_bytes[0] = 1 << 20;
    FAULT("variant") entry[0].variant = NULL;
    FAULT("family_name") entry[0].family = "../faulty";
    FAULT("family_long") entry[0].family = "a_family_whose_name_goes_on_and_on_and_on_and_on_and_on_and_on_and_on";
    FAULT("label_quote") entry[0].label = "h01_it's";
    FAULT("label_upper") entry[0].label = "h01_Zeros";
    FAULT("known_family") entry[0].family = "ceiling_host_fma";
    FAULT("entries") ridge_plugin.entries = -1;
    FAULT("zero_presets") family.shapes = 0;
    FAULT("no_elements") family.buffer[0].count = no_elements;
    FAULT("nan_elements") family.buffer[0].count = nan_elements;
    FAULT("bad_preset") shape[0].dim[0] = -5;
    else abort();
}

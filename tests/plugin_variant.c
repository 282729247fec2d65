/* SPDX-License-Identifier: Apache-2.0 */
/* A variant without a problem: it joins the family of that name. */
#include "kernels/kernel.h"

static int launch(const struct ridge_call *call)
{
    const float *x = call->buffer[0], *y = call->buffer[1];
    float *out = call->buffer[2];
    for (int64_t i = call->dim[0] - 1; i >= 0; i--)
        out[i] = 2 * x[i] + y[i];
    return 0;
}

static const struct ridge_variant variant = {
    .idea = "backwards", .source = "", .changes = "", .kind = RIDGE_HOST, .launch = launch};

static const struct ridge_entry entry[] = {{"example_saxpy", "h04_backwards", __FILE__, NULL, &variant, NULL}};

const struct ridge_plugin ridge_plugin = {RIDGE_ABI_VERSION, sizeof entry / sizeof *entry, entry};

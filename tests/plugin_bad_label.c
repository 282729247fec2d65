/* SPDX-License-Identifier: Apache-2.0 */
/* A label that could not be a file name under kernels/. */
#include "kernels/kernel.h"

static int launch(const struct ridge_call *call)
{
    (void)call;
    return 0;
}

static const struct ridge_variant variant = {
    .idea = "nothing", .source = "", .changes = "", .kind = RIDGE_HOST, .launch = launch};

static const struct ridge_entry entry[] = {{"example_saxpy", "fastest", __FILE__, NULL, &variant, NULL}};

const struct ridge_plugin ridge_plugin = {RIDGE_ABI_VERSION, sizeof entry / sizeof *entry, entry};

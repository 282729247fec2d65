/* SPDX-License-Identifier: Apache-2.0 */
/* A new variant and then one whose label plugin_example.c has taken: neither may stay. */
#include "kernels/kernel.h"

static int launch(const struct ridge_call *call)
{
    (void)call;
    return 0;
}

static const struct ridge_variant variant = {
    .idea = "nothing", .source = "", .changes = "", .kind = RIDGE_HOST, .launch = launch};

static const struct ridge_entry entry[] = {
    {"example_saxpy", "h03_new", __FILE__, NULL, &variant, NULL},
    {"example_saxpy", "h01_simple", __FILE__, NULL, &variant, NULL},
};

const struct ridge_plugin ridge_plugin = {RIDGE_ABI_VERSION, sizeof entry / sizeof *entry, entry};

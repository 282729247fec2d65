/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_decode/mla_decode_launch.cuh"
#include "kernels/mla_decode/mla_decode_quarters.cuh"

static int setup(struct ridge_call *call, void **state)
{
    return mla_setup(call, (const void *)mla_quarters_kernel, mla_quarters_bytes, mla_tile_rows,
                     mla_tile_parts(call->dim, call->device), state);
}

static int launch(const struct ridge_call *call)
{
    return mla_launch(call, mla_quarters_kernel, mla_quarters_bytes, mla_row_tiles(call->dim));
}

extern "C" const struct ridge_variant ridge_variant_mla_decode_14_quarters = {
    .idea =
        "11 by quarters of a block: values multiplied and given back 128 columns at a time, one warpgroup's products"
        " behind the other's",
    .source = "",
    .changes = "scores of block 1 behind those of block 0, values queued before their probabilities are shared, and a"
               " maximum that a row's threads agree on only to raise it",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = mla_tile_unsupported,
    .issued = mla_tile_issued,
    .workspace_bytes = mla_tile_workspace_bytes,
    .setup = setup,
    .teardown = free,
    .launch = launch,
    .kernel = (const void *)mla_quarters_kernel,
};

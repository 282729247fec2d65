/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_decode/mla_decode_launch.cuh"
#include "kernels/mla_decode/mla_decode_seesaw.cuh"

static int setup(struct ridge_call *call, void **state)
{
    return mla_tile_setup(call, (const void *)mla_seesaw_kernel<true>, state);
}

static int launch(const struct ridge_call *call)
{
    return mla_tile_launch(call, mla_seesaw_kernel<true>);
}

extern "C" const struct ridge_variant ridge_variant_mla_decode_06_staggered = {
    .idea = "the seesaw with its two warpgroups kept out of phase",
    .source = "",
    .changes = "scores of block 1 queue behind those of block 0 instead of among them",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = mla_tile_unsupported,
    .issued = mla_tile_issued,
    .workspace_bytes = mla_tile_workspace_bytes,
    .setup = setup,
    .teardown = free,
    .launch = launch,
    .kernel = (const void *)mla_seesaw_kernel<true>,
};

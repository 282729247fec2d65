/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_decode/mla_decode_launch.cuh"
#include "kernels/mla_decode/mla_decode_seesaw.cuh"

static int setup(struct ridge_call *call, void **state)
{
    return mla_tile_setup(call, (const void *)mla_seesaw_kernel<false, mla_pairs>, state);
}

static int launch(const struct ridge_call *call)
{
    return mla_tile_launch(call, mla_seesaw_kernel<false, mla_pairs>);
}

extern "C" const struct ridge_variant ridge_variant_mla_decode_09_wide_copies = {
    .idea = "the seesaw with five copies a block of keys instead of nine, sent by four warps",
    .source = "",
    .changes = "against 05: its one producing thread could not send copies as fast as they were used up",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = mla_tile_unsupported,
    .issued = mla_tile_issued,
    .workspace_bytes = mla_tile_workspace_bytes,
    .setup = setup,
    .teardown = free,
    .launch = launch,
    .kernel = (const void *)mla_seesaw_kernel<false, mla_pairs>,
};

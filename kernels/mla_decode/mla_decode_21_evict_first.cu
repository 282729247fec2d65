/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_decode/mla_decode_launch.cuh"
#include "kernels/mla_decode/mla_decode_seesaw.cuh"

static int setup(struct ridge_call *call, void **state)
{
    return mla_tile_setup(call, (const void *)mla_seesaw_kernel<false, mla_pairs_evict_first>, state);
}

static int launch(const struct ridge_call *call)
{
    return mla_tile_launch(call, mla_seesaw_kernel<false, mla_pairs_evict_first>);
}

extern "C" const struct ridge_variant ridge_variant_mla_decode_21_evict_first = {
    .idea = "09 with keys marked as first to leave L2",
    .source = "FlashMLA docs/20250422-new-kernel-deep-dive.md, cache hints",
    .changes = "against 09: the hint that FlashMLA gives its copies",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .ladder_break = true,
    .unsupported = mla_tile_unsupported,
    .issued = mla_tile_issued,
    .workspace_bytes = mla_tile_workspace_bytes,
    .setup = setup,
    .teardown = free,
    .launch = launch,
    .kernel = (const void *)mla_seesaw_kernel<false, mla_pairs_evict_first>,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ptx/emulate.cuh"

#include "kernels/mla_decode/mla_decode_launch.cuh"
#include "kernels/mla_decode/mla_decode_seesaw.cuh"
#include "kernels/support/trace.cuh"

static int setup(struct ridge_call *call, void **state)
{
    return mla_tile_setup(call, (const void *)mla_seesaw_kernel<false>, state);
}

static int launch(const struct ridge_call *call)
{
    return mla_tile_launch(call, mla_seesaw_kernel<false>);
}

extern "C" const struct ridge_variant ridge_variant_mla_decode_05_seesaw = {
    .idea = "two blocks of keys under way, each warpgroup makes one's scores and half of both outputs",
    .source = "FlashMLA docs/20250422-new-kernel-deep-dive.md, steps 0 to 11",
    .changes = "exponentials of one block run under the products of the other",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = mla_tile_unsupported,
    .issued = mla_tile_issued,
    .workspace_bytes = mla_tile_workspace_bytes,
    .setup = setup,
    .teardown = free,
    .launch = launch,
    .kernel = (const void *)mla_seesaw_kernel<false>,
};

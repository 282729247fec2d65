/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_decode/mla_decode_in_turn.cuh"
#include "kernels/mla_decode/mla_decode_launch.cuh"

static int setup(struct ridge_call *call, void **state)
{
    return mla_tile_setup(call, (const void *)mla_turn_kernel<true>, state);
}

static int launch(const struct ridge_call *call)
{
    return mla_tile_launch(call, mla_turn_kernel<true>);
}

extern "C" const struct ridge_variant ridge_variant_mla_decode_11_lazy_maximum = {
    .idea = "sums are scaled only when a score is 2^8 times as probable as the maximum they were made with",
    .source = "FlashAttention-4, which skips rescaling below a threshold",
    .changes = "the maximum is raised late, which BF16 and FP32 have room for",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = mla_tile_unsupported,
    .issued = mla_tile_issued,
    .workspace_bytes = mla_tile_workspace_bytes,
    .setup = setup,
    .teardown = free,
    .launch = launch,
    .kernel = (const void *)mla_turn_kernel<true>,
};

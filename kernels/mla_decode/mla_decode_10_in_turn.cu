/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_decode/mla_decode_in_turn.cuh"
#include "kernels/mla_decode/mla_decode_launch.cuh"

static int setup(struct ridge_call *call, void **state)
{
    return mla_tile_setup(call, (const void *)mla_turn_kernel<false>, state);
}

static int launch(const struct ridge_call *call)
{
    return mla_tile_launch(call, mla_turn_kernel<false>);
}

extern "C" const struct ridge_variant ridge_variant_mla_decode_10_in_turn = {
    .idea = "both warpgroups add the values of block 0, then those of block 1; a block is given back in three parts",
    .source = "",
    .changes = "against 09: probabilities are not scaled again and have memory of their own; the next scores are "
               "queued behind the last values; the next request's q is loaded under them",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = mla_tile_unsupported,
    .issued = mla_tile_issued,
    .workspace_bytes = mla_tile_workspace_bytes,
    .setup = setup,
    .teardown = free,
    .launch = launch,
    .kernel = (const void *)mla_turn_kernel<false>,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_decode/mla_decode_launch.cuh"
#include "kernels/mla_decode/mla_decode_seesaw.cuh"

static int setup(struct ridge_call *call, void **state)
{
    return mla_tile_setup(call, (const void *)mla_seesaw_kernel<false, mla_pairs>, state);
}

static int launch(const struct ridge_call *call)
{
    const mla_tile_arguments *arguments = (const mla_tile_arguments *)call->state;
    const dim3 grid((unsigned)mla_row_tiles(call->dim), (unsigned)arguments->split.parts);
    mla_seesaw_kernel<false, mla_pairs><<<grid, mla_threads, mla_shared_bytes, ridge_stream(call)>>>(*arguments);
    if (RIDGE_LAUNCHED(call))
        return 1;
    return mla_launch_combine(call, arguments->problem, arguments->split, false);
}

extern "C" const struct ridge_variant ridge_variant_mla_decode_22_no_early_combine = {
    .idea = "09 with a combine that is launched when the splits have ended",
    .source = "",
    .changes = "against 09: no programmatic dependent launch",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .ladder_break = true,
    .unsupported = mla_tile_unsupported,
    .issued = mla_tile_issued,
    .workspace_bytes = mla_tile_workspace_bytes,
    .setup = setup,
    .teardown = free,
    .launch = launch,
    .kernel = (const void *)mla_seesaw_kernel<false, mla_pairs>,
};

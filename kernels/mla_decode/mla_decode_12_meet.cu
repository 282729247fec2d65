/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_decode/mla_decode_in_turn.cuh"
#include "kernels/mla_decode/mla_decode_meet_launch.cuh"

static int setup(struct ridge_call *call, void **state)
{
    return mla_meet_setup(call, (const void *)mla_turn_kernel<true, true>, mla_shared_bytes, mla_tile_rows,
                          mla_tile_parts(call->dim, call->device), state);
}

static int launch(const struct ridge_call *call)
{
    return mla_meet_launch(call, mla_turn_kernel<true, true>, mla_shared_bytes, mla_row_tiles(call->dim));
}

static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    mla_tile_issued(dim, device, work);
    work->launches = 1;
}

extern "C" const struct ridge_variant ridge_variant_mla_decode_12_meet = {
    .idea = "11 where the CTAs that made a cut request's partial results meet and add them up",
    .source = "",
    .changes = "no second kernel: each part adds up a share of the columns when all have arrived at a counter",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = mla_tile_unsupported,
    .issued = issued,
    .workspace_bytes = mla_tile_workspace_bytes,
    .setup = setup,
    .teardown = mla_meet_teardown,
    .launch = launch,
    .kernel = (const void *)mla_turn_kernel<true, true>,
};

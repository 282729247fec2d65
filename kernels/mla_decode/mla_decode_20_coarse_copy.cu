/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_decode/mla_decode_launch.cuh"
#include "kernels/mla_decode/mla_decode_seesaw.cuh"

static int setup(struct ridge_call *call, void **state)
{
    if (mla_tile_setup(call, (const void *)mla_seesaw_kernel<false, mla_whole_blocks>, state))
        return 1;
    mla_tile_arguments *arguments = (mla_tile_arguments *)*state;
    const mla_problem &problem = arguments->problem;
    const int64_t keys = (int64_t)problem.pages * problem.page_size;
    const struct tensor_map_matrix kv = {mla_dtype,      problem.kv, keys, mla_d_k, mla_d_k,
                                         mla_block_keys, 64,         128,  "kv",    true};
    return tensor_map_encode_side_by_side(call, &kv, mla_tiles, &arguments->kv_wide);
}

static int launch(const struct ridge_call *call)
{
    return mla_tile_launch(call, mla_seesaw_kernel<false, mla_whole_blocks>);
}

extern "C" const struct ridge_variant ridge_variant_mla_decode_20_coarse_copy = {
    .idea = "09 with one copy a block of keys, when all of the last one was given back",
    .source = "",
    .changes = "against 09: scores start when the whole block is there",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .ladder_break = true,
    .unsupported = mla_tile_unsupported,
    .issued = mla_tile_issued,
    .workspace_bytes = mla_tile_workspace_bytes,
    .setup = setup,
    .teardown = free,
    .launch = launch,
    .kernel = (const void *)mla_seesaw_kernel<false, mla_whole_blocks>,
};

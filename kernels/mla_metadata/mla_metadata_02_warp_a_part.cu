/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_metadata/mla_metadata_launch.cuh"

/* blockIdx.x: part. Part p also copies every parts-th length from p on. */
static __global__ void __launch_bounds__(32) mla_metadata_warps(mla_problem problem, mla_range *range, int *made_for)
{
    const mla_range mine = mla_range_of(problem, gridDim.x, blockIdx.x);
    if (threadIdx.x == 0)
        range[blockIdx.x] = mine;
    for (int i = blockIdx.x + threadIdx.x * gridDim.x; i < problem.b; i += 32 * gridDim.x)
        made_for[i] = mla_length(problem, i);
}

static int launch(const struct ridge_call *call)
{
    mla_metadata_warps<<<(unsigned)call->dim[2], 32, 0, ridge_stream(call)>>>(
        metadata_problem(call), (mla_range *)call->buffer[1], (int *)call->buffer[2]);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_mla_metadata_02_warp_a_part = {
    .idea = "a warp a part goes over all lengths: what each CTA of the decode kernels does for itself",
    .source = "",
    .changes = "no step depends on another part; every part reads every length",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .launch = launch,
    .kernel = (const void *)mla_metadata_warps,
};

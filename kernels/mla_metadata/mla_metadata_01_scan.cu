/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_metadata/mla_metadata_launch.cuh"
#include "kernels/mla_metadata/mla_metadata_scan.cuh"

static int launch(const struct ridge_call *call)
{
    mla_metadata_scan<<<1, metadata_threads, 0, ridge_stream(call)>>>(
        metadata_problem(call), (int)call->dim[2], (mla_range *)call->buffer[1], (int *)call->buffer[2]);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_mla_metadata_01_scan = {
    .idea = "one block: prefix sums of the requests' units, a binary search a part",
    .source = "",
    .changes = "",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .launch = launch,
    .kernel = (const void *)mla_metadata_scan,
};

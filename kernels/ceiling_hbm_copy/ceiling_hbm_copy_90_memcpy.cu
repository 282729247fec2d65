/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/support/launch.cuh"

static int launch(const struct ridge_call *call)
{
    RIDGE_CUDA(call, cudaMemcpyAsync(call->buffer[1], call->buffer[0], (size_t)call->dim[0], cudaMemcpyDeviceToDevice,
                                     ridge_stream(call)));
    return 0;
}

extern "C" const struct ridge_variant ridge_variant_ceiling_hbm_copy_90_memcpy = {
    .idea = "cudaMemcpyAsync from device to device",
    .source = "CUDA Runtime API",
    .changes = "",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .ladder_break = true,
    .launch = launch,
};

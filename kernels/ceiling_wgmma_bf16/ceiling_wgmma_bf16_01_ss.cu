/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ptx/emulate.cuh"

#include "kernels/ceiling_wgmma_bf16/wgmma_ceiling.cuh"

static int launch(const struct ridge_call *call)
{
    return wgmma_launch_n<false, 2, WGMMA_A_SHARED>(call);
}

static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    (void)device;
    work->bytes_smem = wgmma_bytes_a(dim) + wgmma_bytes_b(dim);
}

extern "C" const struct ridge_variant ridge_variant_ceiling_wgmma_bf16_01_ss = {
    .idea = "two warpgroups an SM, A and B from shared memory (128-byte swizzle, K-major)",
    .source = "PTX ISA 9.0, 9.7.15.5.2",
    .changes = "",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .issued = issued,
    .launch = launch,
    .kernel = (const void *)wgmma_ceiling<false, 256, 2, WGMMA_A_SHARED>,
};

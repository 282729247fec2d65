/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_wgmma_bf16/wgmma_ceiling.cuh"

static const char *unsupported(const int64_t *dim, const struct ridge_device *device)
{
    (void)device;
    return dim[0] > 128 ? "n > 128: four warpgroups have 128 registers a thread, the accumulators alone take n / 2"
                        : NULL;
}

static int launch(const struct ridge_call *call)
{
    return wgmma_launch_n<false, 4, WGMMA_A_SHARED, 128>(call);
}

static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    (void)device;
    work->bytes_smem = wgmma_bytes_a(dim) + wgmma_bytes_b(dim);
}

extern "C" const struct ridge_variant ridge_variant_ceiling_wgmma_bf16_03_ss_4wg = {
    .idea = "four warpgroups an SM, A and B from shared memory: is small n bound by latency?",
    .source = "PTX ISA 9.0, 9.7.15.5.2",
    .changes = "against 01_ss: twice the warpgroups; pairs share a tile of A",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = unsupported,
    .issued = issued,
    .launch = launch,
    .kernel = (const void *)wgmma_ceiling<false, 128, 4, WGMMA_A_SHARED>,
};

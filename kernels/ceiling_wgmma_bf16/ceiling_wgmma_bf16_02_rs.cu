/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ptx/emulate.cuh"

#include "kernels/ceiling_wgmma_bf16/wgmma_ceiling.cuh"

static int launch(const struct ridge_call *call)
{
    return wgmma_launch_n<false, 2, WGMMA_A_REGISTERS>(call);
}

extern "C" const struct ridge_variant ridge_variant_ceiling_wgmma_bf16_02_rs = {
    .idea = "two warpgroups an SM, A from registers, B from shared memory",
    .source = "PTX ISA 9.0, 9.7.15.5.2",
    .changes = "A stays in registers, so a product reads n x 512 bytes of shared memory and not (n + 64) x 512",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .launch = launch,
    .kernel = (const void *)wgmma_ceiling<false, 256, 2, WGMMA_A_REGISTERS>,
};

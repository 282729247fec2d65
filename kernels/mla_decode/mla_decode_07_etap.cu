/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ptx/emulate.cuh"

#include "kernels/mla_decode/mla_decode_etap.cuh"
#include "kernels/support/trace.cuh"

extern "C" const struct ridge_variant ridge_variant_mla_decode_07_etap = {
    .idea = "transposed products for few rows, S^T = K q^T and O^T = V^T P^T; plans: keys of a block, warps",
    .source = "arXiv 2506.01969; FlashMLA-ETAP, which loads with cp.async",
    .changes = "against 04: keys on wgmma's M side, 16 or 32 rows instead of 64 on its N side",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = mla_transposed_unsupported,
    .issued = mla_transposed_issued,
    .workspace_bytes = mla_transposed_workspace_bytes,
    .setup = etap_setup,
    .teardown = free,
    .launch = etap_launch,
    .plans = etap_plans,
    .kernel = (const void *)etap_kernel<16, 1, 2>,
};

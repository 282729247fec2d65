/* SPDX-License-Identifier: Apache-2.0 */
#define SPARSE_512
#define SPARSE_FORMAT KV_MODEL1
#include "kernels/mla_decode_sparse_512/sparse_512_host.cuh"

extern "C" const struct ridge_variant ridge_variant_mla_decode_sparse_512_02_model1 = {
    .idea = "MODEL1: mla_decode_sparse_fp8's scores apart; scales, which are elsewhere, by a second copy",
    .source = "",
    .changes = "tensor cores; 64 heads a CTA",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = sparse_512_unsupported,
    .issued = sparse_512_issued,
    .workspace_bytes = sparse_workspace_bytes,
    .setup = sparse_512_setup,
    .teardown = free,
    .launch = sparse_512_launch,
    .kernel = (const void *)apart_kernel<apart_bf16>,
};

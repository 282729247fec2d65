/* SPDX-License-Identifier: Apache-2.0 */
#define SPARSE_512
#include "kernels/mla_decode_sparse_512/sparse_512_host.cuh"

using tokens = apart_512<KV_MODEL1, apart_bf16>;

extern "C" const struct ridge_variant ridge_variant_mla_decode_sparse_512_02_model1 = {
    .idea = "MODEL1: mla_decode_sparse_fp8's scores apart; scales, which are elsewhere, by a second copy",
    .source = "",
    .changes = "tensor cores; 64 heads a CTA",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = sparse_512_unsupported<tokens>,
    .issued = sparse_512_issued<tokens>,
    .workspace_bytes = sparse_workspace_bytes,
    .setup = sparse_512_setup<tokens>,
    .teardown = free,
    .launch = sparse_512_launch<tokens>,
    .kernel = (const void *)apart_kernel<tokens>,
};

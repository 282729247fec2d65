/* SPDX-License-Identifier: Apache-2.0 */
#define SPARSE_512
#include "kernels/mla_decode_sparse_512/sparse_512_host.cuh"

using tokens = apart_512<KV_V41_FP4, apart_f16>;

extern "C" const struct ridge_variant ridge_variant_mla_decode_sparse_512_06_v41_fp4_f16 = {
    .idea = "V4.1 FP4 with keys, q and probabilities in FP16, which holds all products of codes and scales",
    .source = "",
    .changes = "against 04: half of the bytes of values need no look-up",
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

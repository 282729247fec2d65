/* SPDX-License-Identifier: Apache-2.0 */
#define SPARSE_512
#include "kernels/mla_decode_sparse_512/sparse_512_host.cuh"

using tokens = apart_512<KV_V41_FP8, apart_f16>;

extern "C" const struct ridge_variant ridge_variant_mla_decode_sparse_512_05_v41_fp8_f16 = {
    .idea = "V4.1 FP8 with keys, q and probabilities in FP16: two instructions convert two codes",
    .source = "",
    .changes = "against 03: FP16 in place of BF16; values below 2^-25 and above 65504 are lost",
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

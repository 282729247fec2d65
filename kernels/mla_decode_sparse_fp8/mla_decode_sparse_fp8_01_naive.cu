/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_decode_sparse_fp8/sparse_naive.cuh"

extern "C" const struct ridge_variant ridge_variant_mla_decode_sparse_fp8_01_naive = {
    .idea = "scores, softmax and weighted sum as three kernels, a token decoded wherever it is used",
    .source = "",
    .changes = "",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .unsupported = sparse_naive_unsupported,
    .issued = sparse_naive_issued,
    .workspace_bytes = sparse_naive_workspace_bytes,
    .launch = sparse_naive_launch,
    .kernel = (const void *)sparse_scores,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_decode_sparse_fp8/sparse_host.h"

const struct ridge_variant ridge_variant_mla_decode_sparse_fp8_h01_naive = {
    .idea = "a query's tokens decoded once, then scores, softmax and weighted sum a head",
    .source = "",
    .changes = "",
    .kind = RIDGE_HOST,
    .workspace_bytes = sparse_host_workspace_bytes,
    .launch = sparse_host_launch,
};

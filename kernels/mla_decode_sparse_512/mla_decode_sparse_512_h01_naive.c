/* SPDX-License-Identifier: Apache-2.0 */
#define SPARSE_512
#include "kernels/mla_decode_sparse_fp8/sparse_host.h"

const struct ridge_variant ridge_variant_mla_decode_sparse_512_h01_naive = {
    .idea = "a query's tokens decoded once, then scores, softmax and weighted sum a head",
    .source = "",
    .changes = "",
    .kind = RIDGE_HOST,
    .workspace_bytes = sparse_host_workspace_bytes,
    .launch = sparse_host_launch,
};

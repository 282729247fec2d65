/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_prefill_sparse/mla_prefill_sparse_apart.cuh"

static int launch(const struct ridge_call *call)
{
    return prefill_apart_launch<false>(call);
}

extern "C" const struct ridge_variant ridge_variant_mla_prefill_sparse_04_scores_apart = {
    .idea = "a warpgroup with q in its registers makes probabilities, two others multiply them with values; persistent",
    .source = "",
    .changes = "exponentials of one block run under the products of others; room for three blocks of keys",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = prefill_unsupported,
    .issued = prefill_issued,
    .setup = prefill_apart_setup<false>,
    .launch = launch,
    .kernel = (const void *)prefill_apart_kernel<9, false>,
};

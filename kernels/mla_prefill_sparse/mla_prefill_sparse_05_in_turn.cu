/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_prefill_sparse/mla_prefill_sparse_apart.cuh"

static int launch(const struct ridge_call *call)
{
    return prefill_apart_launch<true>(call);
}

extern "C" const struct ridge_variant ridge_variant_mla_prefill_sparse_05_in_turn = {
    .idea = "scores apart, and values of a block wait until the scores of the next are there",
    .source = "",
    .changes = "the tensor cores have values left to multiply under the exponentials",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = prefill_unsupported,
    .issued = prefill_issued,
    .setup = prefill_apart_setup<true>,
    .launch = launch,
    .kernel = (const void *)prefill_apart_kernel<9, true>,
};

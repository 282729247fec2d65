/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_decode_sparse_fp8/sparse_folded_kernel.cuh"

static void issued(const int64_t *dim, const struct ridge_device *, struct ridge_work *work)
{
    folded_issued(dim, (double)dim[SPARSE_H] / sparse_rows, work);
}

static sparse_function kernel(const struct ridge_call *call)
{
    return sparse_unchecked(call) ? folded_kernel<1, false> : folded_kernel<1, true>;
}

static int setup(struct ridge_call *call, void **state)
{
    return sparse_setup(call, (const void *)kernel(call), folded_shared_bytes, state);
}

static int launch(const struct ridge_call *call)
{
    return sparse_launch(call, kernel(call), 1, sparse_threads, folded_shared_bytes);
}

extern "C" const struct ridge_variant ridge_variant_mla_decode_sparse_fp8_04_folded = {
    .idea = "codes become FP16, scales go to partial scores and to copies of the probabilities",
    .source = "",
    .changes = "one conversion a pair and no product; no crossover",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .issued = issued,
    .workspace_bytes = sparse_workspace_bytes,
    .setup = setup,
    .teardown = free,
    .launch = launch,
    .plans = sparse_plans,
    .kernel = (const void *)folded_kernel<1, true>,
};

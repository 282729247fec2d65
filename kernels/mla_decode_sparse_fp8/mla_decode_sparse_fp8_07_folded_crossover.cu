/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_decode_sparse_fp8/sparse_folded_kernel.cuh"

static void issued(const int64_t *dim, const struct ridge_device *, struct ridge_work *work)
{
    folded_issued(dim, 1, work);
    work->bytes_dsmem = (double)sparse_queries(dim) * (double)dim[SPARSE_TOPK] * (sparse_d_k * 2 + 16);
}

static sparse_function kernel(const struct ridge_call *call)
{
    return sparse_unchecked(call) ? folded_kernel<2, false> : folded_kernel<2, true>;
}

static int setup(struct ridge_call *call, void **state)
{
    return sparse_setup(call, (const void *)kernel(call), folded_shared_bytes, state);
}

static int launch(const struct ridge_call *call)
{
    return sparse_launch(call, kernel(call), 2, sparse_threads, folded_shared_bytes);
}

extern "C" const struct ridge_variant ridge_variant_mla_decode_sparse_fp8_07_folded_crossover = {
    .idea = "codes become FP16 in half of the CTAs each, scales go to partial scores and probabilities",
    .source = "",
    .changes = "the crossover of 03",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = sparse_needs_pairs,
    .issued = issued,
    .workspace_bytes = sparse_workspace_bytes,
    .setup = setup,
    .teardown = free,
    .launch = launch,
    .plans = sparse_plans,
    .kernel = (const void *)folded_kernel<2, true>,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_decode_sparse_fp8/sparse_kernel.cuh"

static void issued(const int64_t *dim, const struct ridge_device *, struct ridge_work *work)
{
    sparse_issued(dim, 1, work);
    work->bytes_dsmem = (double)sparse_queries(dim) * (double)dim[SPARSE_TOPK] * sparse_d_k * 2;
}

static sparse_function kernel(const struct ridge_call *call)
{
    return sparse_unchecked(call) ? sparse_kernel<2, false> : sparse_kernel<2, true>;
}

static int setup(struct ridge_call *call, void **state)
{
    return sparse_setup(call, (const void *)kernel(call), sparse_shared_bytes, state);
}

static int launch(const struct ridge_call *call)
{
    return sparse_launch(call, kernel(call), 2, sparse_threads, sparse_shared_bytes);
}

extern "C" const struct ridge_variant ridge_variant_mla_decode_sparse_fp8_03_crossover = {
    .idea = "two CTAs with 64 heads each dequantise half of the tokens and store them in both shared memories",
    .source = "FlashMLA docs/20250929-hopper-fp8-sparse-deep-dive.md, crossover",
    .changes = "half the conversions; the other half of the tokens comes through distributed shared memory",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = sparse_needs_pairs,
    .issued = issued,
    .workspace_bytes = sparse_workspace_bytes,
    .setup = setup,
    .teardown = free,
    .launch = launch,
    .plans = sparse_plans,
    .kernel = (const void *)sparse_kernel<2, true>,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_decode_sparse_fp8/sparse_kernel.cuh"

static void issued(const int64_t *dim, const struct ridge_device *, struct ridge_work *work)
{
    sparse_issued(dim, (double)dim[SPARSE_H] / sparse_rows, work);
}

static sparse_function kernel(const struct ridge_call *call)
{
    return sparse_unchecked(call) ? sparse_kernel<1, false> : sparse_kernel<1, true>;
}

static int setup(struct ridge_call *call, void **state)
{
    return sparse_setup(call, (const void *)kernel(call), sparse_shared_bytes, state);
}

static int launch(const struct ridge_call *call)
{
    return sparse_launch(call, kernel(call), 1, sparse_threads, sparse_shared_bytes);
}

extern "C" const struct ridge_variant ridge_variant_mla_decode_sparse_fp8_02_dequant = {
    .idea = "a warpgroup gathers tokens and makes them BF16 for two that multiply; 64 heads a CTA",
    .source = "FlashMLA docs/20250929-hopper-fp8-sparse-deep-dive.md",
    .changes = "tensor cores; every CTA dequantises all of its tokens",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .issued = issued,
    .workspace_bytes = sparse_workspace_bytes,
    .setup = setup,
    .teardown = free,
    .launch = launch,
    .plans = sparse_plans,
    .kernel = (const void *)sparse_kernel<1, true>,
};

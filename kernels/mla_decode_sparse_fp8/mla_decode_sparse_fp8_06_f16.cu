/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_decode_sparse_fp8/sparse_apart_v32.cuh"

using tokens = apart_v32<apart_f16>;

static void issued(const int64_t *dim, const struct ridge_device *, struct ridge_work *work)
{
    sparse_issued(dim, (double)dim[SPARSE_H] / sparse_rows, work);
}

static sparse_function kernel(const struct ridge_call *call)
{
    return sparse_unchecked(call) ? apart_kernel<tokens, false> : apart_kernel<tokens, true>;
}

static int setup(struct ridge_call *call, void **state)
{
    return sparse_setup(call, (const void *)kernel(call), apart_shared_bytes<tokens>, state);
}

static int launch(const struct ridge_call *call)
{
    return sparse_launch(call, kernel(call), 1, apart_threads, apart_shared_bytes<tokens>);
}

extern "C" const struct ridge_variant ridge_variant_mla_decode_sparse_fp8_06_f16 = {
    .idea = "05 with keys, q and probabilities in FP16: two instructions convert two codes",
    .source = "",
    .changes = "FP16 in place of BF16, so that the scale is multiplied before, not after, the last conversion",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .issued = issued,
    .workspace_bytes = sparse_workspace_bytes,
    .setup = setup,
    .teardown = free,
    .launch = launch,
    .plans = sparse_plans,
    .kernel = (const void *)apart_kernel<tokens, true>,
};

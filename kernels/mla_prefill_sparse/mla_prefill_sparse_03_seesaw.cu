/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_prefill_sparse/mla_prefill_sparse_seesaw.cuh"

template <int tiles> static __global__ void __launch_bounds__(384, 1) prefill_seesaw_kernel(prefill_problem problem)
{
    extern __shared__ __align__(1024) char memory[];
    const prefill_seesaw_shared shared = {{shared_address(memory)}};
    if (threadIdx.x == 0)
        shared.init_all();
    __syncthreads();
    const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);
    if (warpgroup == 2) {
        registers_give<88>();
        prefill_seesaw_gather<tiles>(problem, shared);
    } else {
        registers_take<208>();
        prefill_seesaw_consume<tiles>(problem, shared, warpgroup);
    }
}

static int setup(struct ridge_call *call, void **state)
{
    *state = NULL;
    return prefill_refuse_buffers(call) ||
           prefill_allow_shared(call, (const void *)prefill_seesaw_kernel<8>, prefill_seesaw_shared::all_bytes) ||
           prefill_allow_shared(call, (const void *)prefill_seesaw_kernel<9>, prefill_seesaw_shared::all_bytes);
}

static int launch(const struct ridge_call *call)
{
    const auto kernel = call->dim[4] == 512 ? prefill_seesaw_kernel<8> : prefill_seesaw_kernel<9>;
    kernel<<<prefill_persistent(call), 384, prefill_seesaw_shared::all_bytes, ridge_stream(call)>>>(
        prefill_problem_of(call));
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_mla_prefill_sparse_03_seesaw = {
    .idea = "two blocks of keys under way, each warpgroup makes one's scores and half of both outputs",
    .source = "FlashMLA docs/20250422-new-kernel-deep-dive.md, steps 0 to 11",
    .changes = "exponentials of one block run under the products of the other; persistent",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = prefill_unsupported,
    .issued = prefill_issued,
    .setup = setup,
    .launch = launch,
    .kernel = (const void *)prefill_seesaw_kernel<9>,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_prefill_sparse/mla_prefill_sparse_turn_consume.cuh"

template <int tiles> static __global__ void __launch_bounds__(384, 1) prefill_turn_kernel(prefill_problem problem)
{
    extern __shared__ __align__(1024) char memory[];
    const prefill_turn_shared shared = {shared_address(memory)};
    if (threadIdx.x == 0)
        shared.init();
    __syncthreads();
    const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);
    if (warpgroup == 2) {
        registers_give<prefill_turn_gather_registers>();
        prefill_turn_gather<tiles>(problem, shared);
    } else {
        registers_take<prefill_turn_registers>();
        prefill_turn_consume<tiles>(problem, shared, warpgroup);
    }
}

static int setup(struct ridge_call *call, void **state)
{
    *state = NULL;
    return prefill_refuse_buffers(call) ||
           prefill_allow_shared(call, (const void *)prefill_turn_kernel<8>, prefill_turn_shared::bytes) ||
           prefill_allow_shared(call, (const void *)prefill_turn_kernel<9>, prefill_turn_shared::bytes);
}

static int launch(const struct ridge_call *call)
{
    const auto kernel = call->dim[4] == 512 ? prefill_turn_kernel<8> : prefill_turn_kernel<9>;
    kernel<<<prefill_persistent(call), 384, prefill_turn_shared::bytes, ridge_stream(call)>>>(prefill_problem_of(call));
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_mla_prefill_sparse_04_lazy_maximum = {
    .idea = "both warpgroups add values of block 0, then of block 1; sums scaled only when a score is 2^8 as probable",
    .source = "mla_decode_11_lazy_maximum",
    .changes = "no probability is scaled again; parts are gathered in the order in which they are given back",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = prefill_unsupported,
    .issued = prefill_issued,
    .setup = setup,
    .launch = launch,
    .kernel = (const void *)prefill_turn_kernel<9>,
};

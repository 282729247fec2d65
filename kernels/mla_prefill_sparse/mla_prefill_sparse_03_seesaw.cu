/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_prefill_sparse/mla_prefill_sparse_seesaw.cuh"

/* A CTA a tile of 64 heads of a query. */
template <int tiles> static __global__ void __launch_bounds__(384, 1) prefill_seesaw_kernel(prefill_problem problem)
{
    extern __shared__ __align__(1024) char memory[];
    const prefill_seesaw_shared shared = {shared_address(memory)};
    const int head_tiles = (problem.h + prefill_heads - 1) / prefill_heads;
    const int query = blockIdx.x / head_tiles, head0 = blockIdx.x % head_tiles * prefill_heads;
    if (threadIdx.x == 0)
        shared.init([](int block) { return block; });
    __syncthreads();
    const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);
    if (warpgroup == 2) {
        registers_give<72>();
        prefill_seesaw_gather<tiles>(problem, shared, query);
    } else {
        registers_take<216>();
        prefill_load_q<tiles>(problem, shared.q(), (int64_t)query * problem.h + head0, problem.h - head0, 256);
        cp_async_commit();
        cp_async_wait<0>();
        fence_proxy_async();
        named_sync(5, 256);
        prefill_seesaw_consume<tiles>(problem, shared, warpgroup, query, head0);
    }
}

static int setup(struct ridge_call *call, void **state)
{
    *state = NULL;
    return prefill_allow_shared(call, (const void *)prefill_seesaw_kernel<8>, prefill_seesaw_shared::bytes) ||
           prefill_allow_shared(call, (const void *)prefill_seesaw_kernel<9>, prefill_seesaw_shared::bytes);
}

static int launch(const struct ridge_call *call)
{
    const auto kernel = call->dim[4] == 512 ? prefill_seesaw_kernel<8> : prefill_seesaw_kernel<9>;
    kernel<<<(unsigned)prefill_items(call->dim), 384, prefill_seesaw_shared::bytes, ridge_stream(call)>>>(
        prefill_problem_of(call));
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_mla_prefill_sparse_03_seesaw = {
    .idea = "two blocks of keys under way, each warpgroup makes one's scores and half of both outputs",
    .source = "FlashMLA docs/20250422-new-kernel-deep-dive.md, steps 0 to 11",
    .changes = "exponentials of one block run under the products of the other",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = prefill_unsupported,
    .issued = prefill_issued,
    .setup = setup,
    .launch = launch,
    .kernel = (const void *)prefill_seesaw_kernel<9>,
};

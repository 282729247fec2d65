/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_prefill_sparse/mla_prefill_sparse_launch.cuh"

typedef prefill_shared<9, 2> shared_memory;

template <int tiles>
static __device__ __forceinline__ void make_scores(float (&score)[32], const shared_memory &shared, int block,
                                                   uint32_t parity)
{
#pragma unroll
    for (int tile = 0; tile < tiles; tile++) {
        if (tile % 4 == 0)
            prefill_wait_part(shared.full(block, tile / 4), parity);
        wgmma_fence();
        mla_multiply_keys(score, shared.q() + tile * prefill_tile, shared.keys(block) + tile * prefill_tile, tile > 0);
    }
    wgmma_commit();
    if (tiles == 8)
        prefill_wait_part(shared.full(block, 2), parity);
    wgmma_wait<0>();
    wgmma_settle(score);
}

template <int tiles>
static __device__ __forceinline__ void consume(const prefill_problem &problem, const shared_memory &shared,
                                               int warpgroup, int query, int head0)
{
    mla_row_pair rows = {{-INFINITY, -INFINITY}, {0, 0}, {0, 0}};
    float out[mla_half / 2];
    prefill_place<2> at = {0, 0};
#pragma unroll
    for (int i = 0; i < mla_half / 2; i++)
        out[i] = 0;
#pragma unroll 1
    for (int first = 0; first < problem.topk; first += prefill_block, at.next()) {
        const bool last = first + prefill_block >= problem.topk;
        if (warpgroup == 0) {
            float score[32];
            make_scores<tiles>(score, shared, at.block, at.parity);
            prefill_mask(score, shared.is_key(at.block));
            prefill_softmax(score, shared, at.block, rows);
            if (last)
                prefill_finish_rows(problem, shared, at.block, query, head0, rows);
            prefill_arrive(shared.ready(at.block));
        }
        mbarrier_wait(shared.ready(at.block), at.parity);
        prefill_add_values(out, shared, at.block, shared.keys(at.block), warpgroup, [] {});
        if (!last)
            prefill_arrive(shared.empty(at.block, warpgroup));
        if (last) {
            named_sync(2 + warpgroup, 128); /* all warps have multiplied the block */
            prefill_store_through(problem, shared, at.block, shared.keys(at.block), query, head0, warpgroup, out);
        }
    }
}

/* A CTA a tile of 64 heads of a query. */
template <int tiles> static __global__ void __launch_bounds__(384, 1) prefill_wgmma_kernel(prefill_problem problem)
{
    extern __shared__ __align__(1024) char memory[];
    const shared_memory shared = {shared_address(memory)};
    const int head_tiles = (problem.h + prefill_heads - 1) / prefill_heads;
    const int query = blockIdx.x / head_tiles, head0 = blockIdx.x % head_tiles * prefill_heads;
    if (threadIdx.x == 0)
        shared.init([](int) { return 0; });
    if (threadIdx.x < 128)
        prefill_load_q<tiles>(problem, shared.q(), (int64_t)query * problem.h + head0, problem.h - head0);
    cp_async_commit();
    cp_async_wait<0>();
    fence_proxy_async();
    __syncthreads();
    const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);
    if (warpgroup == 2) {
        registers_give<mla_producer_registers>();
        prefill_place<2> at = {0, 0};
        prefill_gather<tiles>(problem, shared, query, at);
    } else {
        registers_take<mla_consumer_registers>();
        consume<tiles>(problem, shared, warpgroup, query, head0);
    }
}

static int setup(struct ridge_call *call, void **state)
{
    *state = NULL;
    return prefill_refuse_buffers(call) ||
           prefill_allow_shared(call, (const void *)prefill_wgmma_kernel<8>, shared_memory::bytes) ||
           prefill_allow_shared(call, (const void *)prefill_wgmma_kernel<9>, shared_memory::bytes);
}

static int launch(const struct ridge_call *call)
{
    const auto kernel = call->dim[4] == 512 ? prefill_wgmma_kernel<8> : prefill_wgmma_kernel<9>;
    kernel<<<(unsigned)prefill_items(call->dim), 384, shared_memory::bytes, ridge_stream(call)>>>(
        prefill_problem_of(call));
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_mla_prefill_sparse_02_wgmma = {
    .idea = "64 heads a CTA on WGMMA: one warpgroup gathers keys, one makes probabilities, two have half of the output",
    .source = "",
    .changes = "tensor cores; 64 heads gather a key once; products and exponentials take turns",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = prefill_unsupported,
    .issued = prefill_issued,
    .setup = setup,
    .launch = launch,
    .kernel = (const void *)prefill_wgmma_kernel<9>,
};

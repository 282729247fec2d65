/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scores apart from values: warpgroup 2 has q in its registers and makes the probabilities of block after block;
 * warpgroups 0 and 1 multiply them with their halves of the values, and gather the keys that come where the values
 * were. q leaves room for a third block of keys, and products with q read half as much shared memory. Persistent: a CTA
 * takes tiles of 64 heads in turn, and the ring of blocks goes on from one to the next.
 *
 * in_turn: the tensor cores serve warpgroups alternately, so that the values of block j would be done before the scores
 * of block j + 1, and nothing would be left to multiply under its exponentials. So they wait for those scores.
 *
 * Named barriers: 1 warpgroup 2 has its scores, 2 and 3 warpgroup 0 or 1 has read its values.
 */
#ifndef RIDGE_MLA_PREFILL_SPARSE_APART_CUH
#define RIDGE_MLA_PREFILL_SPARSE_APART_CUH

#include "kernels/mla_prefill_sparse/mla_prefill_sparse_launch.cuh"

constexpr int prefill_apart_threads = 384, prefill_ring = 3;
constexpr int prefill_score_registers = 192, prefill_value_registers = 160;
typedef prefill_shared<1, prefill_ring> prefill_apart_shared;

/* Tiles of 64 heads, of one query after the other; those of a CTA are gridDim.x apart. */
static __device__ __forceinline__ int prefill_head_tiles(const prefill_problem &problem)
{
    return (problem.h + prefill_heads - 1) / prefill_heads;
}

static __device__ __forceinline__ int prefill_query(const prefill_problem &problem, int item)
{
    return item / prefill_head_tiles(problem);
}

static __device__ __forceinline__ int prefill_head0(const prefill_problem &problem, int item)
{
    return item % prefill_head_tiles(problem) * prefill_heads;
}

template <typename function>
static __device__ __forceinline__ void prefill_each_item(const prefill_problem &problem, const function &of_item)
{
#pragma unroll 1
    for (int item = blockIdx.x; item < problem.s_q * prefill_head_tiles(problem); item += gridDim.x)
        of_item(item);
}

/* Eight tiles of q as A fragments (wgmma.cuh), and the ninth to shared memory. Zeros behind the last head. */
template <int tiles>
static __device__ __forceinline__ void prefill_take_q(const prefill_problem &problem, const prefill_apart_shared &shared,
                                                      int item, uint32_t (&q)[32][4])
{
    const int head0 = prefill_head0(problem, item), heads = problem.h - head0;
    const __nv_bfloat16 *first =
        problem.q + ((int64_t)prefill_query(problem, item) * problem.h + head0) * (tiles * 64);
    if (tiles == 9) {
#pragma unroll 1
        for (int row = threadIdx.x % 128 / 8; row < 64; row += 16) {
            const int chunk = threadIdx.x % 8;
            uint4 word = make_uint4(0, 0, 0, 0);
            if (row < heads)
                word = ld_global_v4(first + row * (tiles * 64) + 8 * 64 + chunk * 8);
            st_shared_v4(shared.q() + swizzle_128(row, chunk * 16), word);
        }
        fence_proxy_async();
        named_sync(1, 128);
    }
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int row = mla_row_in_tile(half);
        const uint32_t *from = (const uint32_t *)(first + (row < heads ? row : 0) * (tiles * 64)) + threadIdx.x % 4;
#pragma unroll
        for (int i = 0; i < 64; i++)
            q[i / 2][i % 2 * 2 + half] = row < heads ? __ldg(from + i * 4) : 0;
    }
}

template <int tiles>
static __device__ __forceinline__ void prefill_make_scores(float (&score)[32], const prefill_apart_shared &shared,
                                                           int block, uint32_t parity, const uint32_t (&q)[32][4])
{
    const uint64_t keys = wgmma_descriptor_128(shared.keys(block));
#pragma unroll
    for (int part = 0; part < 2; part++) {
        prefill_wait_part(shared.full(block, part), parity);
        wgmma_fence();
#pragma unroll
        for (int i = part * 16; i < part * 16 + 16; i++)
            wgmma_bf16_rs(score, q[i], wgmma_descriptor_advance(keys, i / 4 * prefill_tile + i % 4 * 32), i > 0);
    }
    prefill_wait_part(shared.full(block, 2), parity);
    wgmma_fence();
    if (tiles == 9)
        mla_multiply_keys(score, shared.q(), shared.keys(block) + 8 * prefill_tile, 1);
    wgmma_commit();
    wgmma_wait<0>();
    wgmma_settle(score);
}

template <int tiles, bool in_turn>
static __device__ __forceinline__ void prefill_score(const prefill_problem &problem, const prefill_apart_shared &shared)
{
    prefill_place<prefill_ring> at = {0, 0};
    prefill_each_item(problem, [&](int item) {
        mla_row_pair rows = {{-INFINITY, -INFINITY}, {0, 0}, {0, 0}};
        uint32_t q[32][4], before = 0;
        prefill_take_q<tiles>(problem, shared, item, q);
#pragma unroll 1
        for (int first = 0; first < problem.topk; first += prefill_block, at.next()) {
            float score[32];
            prefill_make_scores<tiles>(score, shared, at.block, at.parity, q);
            if (in_turn && first > 0)
                prefill_arrive(before);
            before = shared.ready(at.block);
            prefill_softmax(score, shared, at.block, rows);
            const bool last = first + prefill_block >= problem.topk;
            if (last)
                prefill_finish_rows(problem, shared, at.block, prefill_query(problem, item),
                                    prefill_head0(problem, item), rows);
            if (!in_turn || last)
                prefill_arrive(before);
        }
    });
}

/* Where the gathering of a value warpgroup is, a ring ahead of its products. */
struct prefill_ahead {
    int item, first; /* place in its list */
};

/* The next block's part, to where it has read the values. Warpgroup 0 also takes the RoPE part, to where the
 * probabilities were, which both have read once `empty` is in the phase of `parity`. */
template <int tiles>
static __device__ __forceinline__ void prefill_gather_ahead(const prefill_problem &problem,
                                                            const prefill_apart_shared &shared, int warpgroup,
                                                            int block, uint32_t parity, prefill_ahead &ahead)
{
    if (ahead.item >= problem.s_q * prefill_head_tiles(problem))
        return;
    const prefill_indices indices(prefill_list(problem, prefill_query(problem, ahead.item)) + ahead.first);
    if (warpgroup == 0) {
        prefill_tell_keys(problem, shared, block, indices, shared.full(block, 0));
        prefill_gather_part<tiles>(problem, shared, block, indices, 0);
        mbarrier_wait(shared.empty(block, 1), parity);
        prefill_gather_part<tiles>(problem, shared, block, indices, 2);
    } else {
        prefill_gather_part<tiles>(problem, shared, block, indices, 1);
    }
    ahead.first += prefill_block;
    if (ahead.first >= problem.topk) {
        ahead.first = 0;
        ahead.item += gridDim.x;
    }
}

template <int tiles>
static __device__ __forceinline__ void prefill_values(const prefill_problem &problem,
                                                      const prefill_apart_shared &shared, int warpgroup)
{
    prefill_place<prefill_ring> at = {0, 0};
    prefill_ahead ahead = {(int)blockIdx.x, 0};
#pragma unroll 1
    for (int block = 0; block < prefill_ring; block++)
        prefill_gather_ahead<tiles>(problem, shared, warpgroup, block, 1, ahead);
    prefill_each_item(problem, [&](int item) {
        float out[mla_half / 2];
#pragma unroll
        for (int i = 0; i < mla_half / 2; i++)
            out[i] = 0;
#pragma unroll 1
        for (int first = 0; first < problem.topk; first += prefill_block, at.next()) {
            mbarrier_wait(shared.ready(at.block), at.parity);
            prefill_add_values(out, shared, at.block, warpgroup);
            if (warpgroup == 1)
                prefill_arrive(shared.empty(at.block, 1));
            if (first + prefill_block >= problem.topk)
                prefill_store_through(problem, shared, at.block, prefill_query(problem, item),
                                      prefill_head0(problem, item), warpgroup, out);
            named_sync(2 + warpgroup, 128);
            prefill_gather_ahead<tiles>(problem, shared, warpgroup, at.block, at.parity, ahead);
        }
    });
}

template <int tiles, bool in_turn>
static __global__ void __launch_bounds__(prefill_apart_threads, 1) prefill_apart_kernel(prefill_problem problem)
{
    extern __shared__ __align__(1024) char memory[];
    const prefill_apart_shared shared = {shared_address(memory)};
    if (threadIdx.x == 0)
        shared.init([](int) { return 0; });
    __syncthreads();
    const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);
    if (warpgroup == 2) {
        registers_take<prefill_score_registers>();
        prefill_score<tiles, in_turn>(problem, shared);
    } else {
        registers_give<prefill_value_registers>();
        prefill_values<tiles>(problem, shared, warpgroup);
    }
}

template <bool in_turn> static inline int prefill_apart_setup(struct ridge_call *call, void **state)
{
    *state = NULL;
    return prefill_allow_shared(call, (const void *)prefill_apart_kernel<8, in_turn>, prefill_apart_shared::bytes) ||
           prefill_allow_shared(call, (const void *)prefill_apart_kernel<9, in_turn>, prefill_apart_shared::bytes);
}

template <bool in_turn> static inline int prefill_apart_launch(const struct ridge_call *call)
{
    const auto kernel = call->dim[4] == 512 ? prefill_apart_kernel<8, in_turn> : prefill_apart_kernel<9, in_turn>;
    const int64_t items = prefill_items(call->dim), sms = call->device->sms;
    kernel<<<(unsigned)(items < sms ? items : sms), prefill_apart_threads, prefill_apart_shared::bytes,
             ridge_stream(call)>>>(prefill_problem_of(call));
    return RIDGE_LAUNCHED(call);
}

#endif

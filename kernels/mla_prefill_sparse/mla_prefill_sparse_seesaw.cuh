/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seesaw of mla_decode_seesaw.cuh over a list of keys. Warpgroup 0 makes the scores of block 0, warpgroup 1 those
 * of block 1; each multiplies its own probabilities with its half of its block's values, and then the other's with its
 * half of the other block's. While one is at its exponentials the other's products keep the tensor cores busy.
 *
 * Named barriers: 1 the maximum after block 0 is announced, 2 probabilities of block 1 and the maximum after it, 3
 * probabilities of block 0 under that maximum, 4 and 6 all warps of a warpgroup have their scores, 5 the end of an
 * item.
 *
 * Persistent: a CTA takes tiles of 64 heads in turn, and while one ends, q and the first keys of the next are gathered.
 */
#ifndef RIDGE_MLA_PREFILL_SPARSE_SEESAW_CUH
#define RIDGE_MLA_PREFILL_SPARSE_SEESAW_CUH

#include "kernels/mla_prefill_sparse/mla_prefill_sparse_launch.cuh"

/* And two barriers of q. */
struct prefill_seesaw_shared : prefill_shared<9, 2> {
    static constexpr int all_bytes = bytes + 16;
    static_assert(all_bytes <= 232448, "more than the shared memory of a block");

    __device__ uint32_t q_full() const
    {
        return base + bytes;
    }
    __device__ uint32_t q_empty() const
    {
        return base + bytes + 8;
    }
    __device__ void init_all() const
    {
        mbarrier_init(q_full(), 128);
        mbarrier_init(q_empty(), 8);
        init([](int block) { return block; });
    }
};

/* A pair of blocks. */
struct prefill_pair {
    bool two, last; /* there is a block 1; no pair of the item follows */
    uint32_t parity[2];
};

/* Of a block, in the order in which it is gathered: block 1 begins with the values that are given back first. */
template <int tiles>
static __device__ __forceinline__ void prefill_seesaw_scores(float (&score)[32], const prefill_seesaw_shared &shared,
                                                             int block, const prefill_pair &pair)
{
    const uint32_t parity = pair.parity[block];
#pragma unroll
    for (int i = 0; i < tiles; i++) {
        if (i % 4 == 0)
            prefill_wait_part(shared.full(block, i < 8 ? i / 4 ^ block : 2), parity);
        const int tile = i < 8 ? i ^ 4 * block : 8;
        wgmma_fence();
        mla_multiply_keys(score, shared.q() + tile * prefill_tile, shared.keys(block) + tile * prefill_tile, i > 0);
    }
    wgmma_commit();
    if (tiles == 8)
        prefill_wait_part(shared.full(block, 2), parity);
    wgmma_wait<0>();
    wgmma_settle(score);
    if (pair.last)
        prefill_arrive(shared.q_empty());
    prefill_mask(score, shared.is_key(block));
}

/* The maxima after a block, for the other warpgroup. */
static __device__ __forceinline__ void prefill_announce(const prefill_seesaw_shared &shared, int block,
                                                        const float (&max)[2])
{
    if (threadIdx.x % 4 == 0)
        for (int half = 0; half < 2; half++)
            st_shared_f32(shared.factor(block, mla_row_in_tile(half)), max[half]);
}

/* Takes them over; the sums so far are then worth `factor`. */
static __device__ __forceinline__ void prefill_announced(const prefill_seesaw_shared &shared, int block,
                                                         float (&max)[2])
{
    for (int half = 0; half < 2; half++)
        max[half] = ld_shared_f32(shared.factor(block, mla_row_in_tile(half)));
}

static __device__ __forceinline__ void prefill_rescale(mla_row_pair &rows, const float (&old)[2], float (&factor)[2])
{
    for (int half = 0; half < 2; half++) {
        factor[half] = mla_factor(old[half], rows.max[half]);
        rows.sum[half] *= factor[half];
    }
}

/* Warpgroup 0, columns 0 .. 255. The tiles that it reads last stay its own after the last pair. */
template <int tiles>
static __device__ __forceinline__ void prefill_pair_left(const prefill_seesaw_shared &shared, const prefill_pair &pair,
                                                         float (&out)[mla_half / 2], mla_row_pair &rows)
{
    float score[32], factor[2], old[2] = {rows.max[0], rows.max[1]};
    uint32_t p[4][4];
    prefill_seesaw_scores<tiles>(score, shared, 0, pair);
    named_sync(6, 128);
    mla_raise(rows.max, score);
    prefill_announce(shared, 0, rows.max);
    named_arrive(1, 256);
    prefill_rescale(rows, old, factor);
    mla_exponentiate(score, rows.max, rows.sum);
    mla_round(p, score);
    mla_scale_rows(out, factor);
    wgmma_fence();
    mla_add_values(out, p, shared.keys(0), 0);
    wgmma_commit();

    if (pair.two) {
        old[0] = rows.max[0], old[1] = rows.max[1];
        named_sync(2, 256);
        prefill_announced(shared, 1, rows.max);
        prefill_rescale(rows, old, factor);
#pragma unroll
        for (int i = 0; i < 32; i++)
            score[i] *= factor[i / 2 % 2];
    }
    uint32_t scaled[4][4];
    mla_round(scaled, score);
    mla_store_probabilities(shared.probabilities(0), scaled);
    named_arrive(3, 256);
    wgmma_wait<0>();
    wgmma_settle(out);
    if (pair.two || !pair.last)
        prefill_arrive(shared.empty(0, 0));
    if (pair.two) {
        mla_scale_rows(out, factor);
        wgmma_fence();
        mla_add_values(out, shared.probabilities(1), shared.keys(1), 0);
        wgmma_commit();
        wgmma_wait<0>();
        wgmma_settle(out);
        if (!pair.last)
            prefill_arrive(shared.empty(1, 0));
    }
}

/* Warpgroup 1, columns 256 .. 511. The same. */
template <int tiles>
static __device__ __forceinline__ void prefill_pair_right(const prefill_seesaw_shared &shared, const prefill_pair &pair,
                                                          float (&out)[mla_half / 2], mla_row_pair &rows)
{
    float score[32], factor[2], old[2] = {rows.max[0], rows.max[1]};
    uint32_t p[4][4];
    if (pair.two) {
        prefill_seesaw_scores<tiles>(score, shared, 1, pair);
        named_sync(4, 128);
    } else {
        prefill_arrive(shared.q_empty());
    }
    named_sync(1, 256);
    prefill_announced(shared, 0, rows.max);
    if (pair.two)
        mla_raise(rows.max, score);
    prefill_rescale(rows, old, factor);
    if (pair.two) {
        prefill_announce(shared, 1, rows.max);
        mla_exponentiate(score, rows.max, rows.sum);
        mla_round(p, score);
        mla_store_probabilities(shared.probabilities(1), p);
        named_arrive(2, 256);
    }
    mla_scale_rows(out, factor);
    if (pair.two) {
        wgmma_fence();
        mla_add_values(out, p, shared.keys(1), 1);
        wgmma_commit();
    }
    named_sync(3, 256);
    wgmma_fence();
    mla_add_values(out, shared.probabilities(0), shared.keys(0), 1);
    wgmma_commit();
    if (pair.two) {
        wgmma_wait<1>();
        prefill_arrive(shared.empty(1, 1));
    }
    wgmma_wait<0>();
    wgmma_settle(out);
    if (!pair.last)
        prefill_arrive(shared.empty(0, 1));
}

/* Sums of both warpgroups, and the result, through the tiles that a warpgroup has read last. */
static __device__ __forceinline__ void prefill_seesaw_finish(const prefill_problem &problem,
                                                             const prefill_seesaw_shared &shared, int warpgroup,
                                                             int item, int block, const float (&out)[mla_half / 2],
                                                             const mla_row_pair &rows)
{
    const int query = prefill_query(problem, item), head0 = prefill_head0(problem, item);
    float inverse[2];
#pragma unroll
    for (int half = 0; half < 2; half++)
        st_shared_f32(shared.inverse(warpgroup, mla_row_in_tile(half)), prefill_sum_of_row(rows.sum[half]));
    named_sync(5, 256); /* and all warps have multiplied */
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int row = mla_row_in_tile(half);
        const float sum = ld_shared_f32(shared.inverse(0, row)) + ld_shared_f32(shared.inverse(1, row));
        inverse[half] = prefill_inverse(sum);
        if (warpgroup == 0)
            prefill_store_row(problem, query, head0 + row, rows.max[half], sum);
    }
    prefill_store(problem, shared.keys(block) + warpgroup * 4 * prefill_tile, query, head0, warpgroup, out, inverse);
    prefill_arrive(shared.empty(block, warpgroup));
}

template <int tiles>
static __device__ __forceinline__ void prefill_seesaw_consume(const prefill_problem &problem,
                                                              const prefill_seesaw_shared &shared, int warpgroup)
{
    prefill_pair pair = {};
    uint32_t q_parity = 0;
    prefill_each_item(problem, [&](int item) {
        mla_row_pair rows = {{-INFINITY, -INFINITY}, {0, 0}, {0, 0}};
        float out[mla_half / 2];
#pragma unroll
        for (int i = 0; i < mla_half / 2; i++)
            out[i] = 0;
        prefill_wait_part(shared.q_full(), q_parity);
        q_parity ^= 1;
#pragma unroll 1
        for (int first = 0; first < problem.topk; first += 2 * prefill_block) {
            pair.two = first + prefill_block < problem.topk;
            pair.last = first + 2 * prefill_block >= problem.topk;
            if (warpgroup == 0)
                prefill_pair_left<tiles>(shared, pair, out, rows);
            else
                prefill_pair_right<tiles>(shared, pair, out, rows);
            pair.parity[0] ^= 1;
            pair.parity[1] ^= pair.two;
        }
        prefill_seesaw_finish(problem, shared, warpgroup, item, warpgroup == 0 && pair.two, out, rows);
    });
}

/* Parts in the order in which they are given back: of block 0 the left values by warpgroup 0, of block 1 the right ones
 * by warpgroup 1, then what the other warpgroup reads last, the probabilities included. */
template <int tiles>
static __device__ __forceinline__ void prefill_seesaw_gather_pair(const prefill_problem &problem,
                                                                  const prefill_seesaw_shared &shared,
                                                                  const prefill_pair &pair, const int32_t *list)
{
    const prefill_indices one(list), other(list + (pair.two ? prefill_block : 0));
    for (int reader = 0; reader < 2; reader++) {
        mbarrier_wait(shared.empty(0, reader), pair.parity[0] ^ 1);
        if (reader == 0)
            prefill_tell_keys(problem, shared, 0, one, shared.full(0, 0));
        prefill_gather_part<tiles>(problem, shared, 0, one, reader);
        if (reader == 1)
            prefill_gather_part<tiles>(problem, shared, 0, one, 2);
        if (!pair.two)
            continue;
        mbarrier_wait(shared.empty(1, reader ^ 1), pair.parity[1] ^ 1);
        if (reader == 0)
            prefill_tell_keys(problem, shared, 1, other, shared.full(1, 1));
        prefill_gather_part<tiles>(problem, shared, 1, other, reader ^ 1);
        if (reader == 1)
            prefill_gather_part<tiles>(problem, shared, 1, other, 2);
    }
}

template <int tiles>
static __device__ __forceinline__ void prefill_seesaw_gather(const prefill_problem &problem,
                                                             const prefill_seesaw_shared &shared)
{
    prefill_pair pair = {};
    uint32_t q_parity = 1;
    prefill_each_item(problem, [&](int item) {
        const int query = prefill_query(problem, item), head0 = prefill_head0(problem, item);
        mbarrier_wait(shared.q_empty(), q_parity);
        q_parity ^= 1;
        prefill_load_q<tiles>(problem, shared.q(), (int64_t)query * problem.h + head0, problem.h - head0);
        cp_async_arrive(shared.q_full());
#pragma unroll 1
        for (int first = 0; first < problem.topk; first += 2 * prefill_block) {
            pair.two = first + prefill_block < problem.topk;
            prefill_seesaw_gather_pair<tiles>(problem, shared, pair, prefill_list(problem, query) + first);
            pair.parity[0] ^= 1;
            pair.parity[1] ^= pair.two;
        }
    });
}

#endif

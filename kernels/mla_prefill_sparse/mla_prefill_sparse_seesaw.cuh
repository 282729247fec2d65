/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seesaw of mla_decode_seesaw.cuh over a list of keys. Warpgroup 0 makes the scores of block 0, warpgroup 1 those
 * of block 1; each multiplies its own probabilities with its half of its block's values, and then the other's with its
 * half of the other block's. While one is at its exponentials the other's products keep the tensor cores busy.
 *
 * Named barriers: 1 the maximum after block 0 is announced, 2 probabilities of block 1 and the maximum after it, 3
 * probabilities of block 0 under that maximum, 4 and 6 all warps of a warpgroup have their scores, 5 the end.
 */
#ifndef RIDGE_MLA_PREFILL_SPARSE_SEESAW_CUH
#define RIDGE_MLA_PREFILL_SPARSE_SEESAW_CUH

#include "kernels/mla_prefill_sparse/mla_prefill_sparse_launch.cuh"

typedef prefill_shared<9, 2> prefill_seesaw_shared;

/* Of a block, in the order in which it is gathered: block 1 begins with the values that are given back first. */
template <int tiles>
static __device__ __forceinline__ void prefill_seesaw_scores(float (&score)[32], const prefill_seesaw_shared &shared,
                                                             int block, uint32_t parity)
{
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
static __device__ __forceinline__ void prefill_announced(const prefill_seesaw_shared &shared, int block, float (&max)[2])
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

/* Warpgroup 0, columns 0 .. 255. two: there is a block 1. */
template <int tiles>
static __device__ __forceinline__ void prefill_pair_left(const prefill_seesaw_shared &shared, uint32_t parity, bool two,
                                                         float (&out)[mla_half / 2], mla_row_pair &rows)
{
    float score[32], factor[2], old[2] = {rows.max[0], rows.max[1]};
    uint32_t p[4][4];
    prefill_seesaw_scores<tiles>(score, shared, 0, parity);
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

    if (two) {
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
    prefill_arrive(shared.empty(0, 0));
    if (two) {
        mla_scale_rows(out, factor);
        wgmma_fence();
        mla_add_values(out, shared.probabilities(1), shared.keys(1), 0);
        wgmma_commit();
        wgmma_wait<0>();
        wgmma_settle(out);
        prefill_arrive(shared.empty(1, 0));
    }
}

/* Warpgroup 1, columns 256 .. 511. */
template <int tiles>
static __device__ __forceinline__ void prefill_pair_right(const prefill_seesaw_shared &shared, uint32_t parity,
                                                          bool two, float (&out)[mla_half / 2], mla_row_pair &rows)
{
    float score[32], factor[2], old[2] = {rows.max[0], rows.max[1]};
    uint32_t p[4][4];
    if (two) {
        prefill_seesaw_scores<tiles>(score, shared, 1, parity);
        named_sync(4, 128);
    }
    named_sync(1, 256);
    prefill_announced(shared, 0, rows.max);
    if (two)
        mla_raise(rows.max, score);
    prefill_rescale(rows, old, factor);
    if (two) {
        prefill_announce(shared, 1, rows.max);
        mla_exponentiate(score, rows.max, rows.sum);
        mla_round(p, score);
        mla_store_probabilities(shared.probabilities(1), p);
        named_arrive(2, 256);
    }
    mla_scale_rows(out, factor);
    if (two) {
        wgmma_fence();
        mla_add_values(out, p, shared.keys(1), 1);
        wgmma_commit();
    }
    named_sync(3, 256);
    wgmma_fence();
    mla_add_values(out, shared.probabilities(0), shared.keys(0), 1);
    wgmma_commit();
    if (two) {
        wgmma_wait<1>();
        prefill_arrive(shared.empty(1, 1));
    }
    wgmma_wait<0>();
    wgmma_settle(out);
    prefill_arrive(shared.empty(0, 1));
}

/* Sums of both warpgroups, and the result. q is not needed any more. */
static __device__ __forceinline__ void prefill_seesaw_finish(const prefill_problem &problem,
                                                             const prefill_seesaw_shared &shared, int warpgroup,
                                                             int query, int head0, const float (&out)[mla_half / 2],
                                                             const mla_row_pair &rows)
{
    float inverse[2];
#pragma unroll
    for (int half = 0; half < 2; half++)
        st_shared_f32(shared.inverse(warpgroup, mla_row_in_tile(half)), prefill_sum_of_row(rows.sum[half]));
    named_sync(5, 256);
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int row = mla_row_in_tile(half);
        const float sum = ld_shared_f32(shared.inverse(0, row)) + ld_shared_f32(shared.inverse(1, row));
        inverse[half] = prefill_inverse(sum);
        if (warpgroup == 0)
            prefill_store_row(problem, query, head0 + row, rows.max[half], sum);
    }
    prefill_store(problem, shared.q() + warpgroup * 4 * prefill_tile, query, head0, warpgroup, out, inverse);
}

template <int tiles>
static __device__ __forceinline__ void prefill_seesaw_consume(const prefill_problem &problem,
                                                              const prefill_seesaw_shared &shared, int warpgroup,
                                                              int query, int head0)
{
    mla_row_pair rows = {{-INFINITY, -INFINITY}, {0, 0}, {0, 0}};
    float out[mla_half / 2];
    uint32_t parity = 0;
#pragma unroll
    for (int i = 0; i < mla_half / 2; i++)
        out[i] = 0;
#pragma unroll 1
    for (int first = 0; first < problem.topk; first += 2 * prefill_block, parity ^= 1) {
        const bool two = first + prefill_block < problem.topk;
        if (warpgroup == 0)
            prefill_pair_left<tiles>(shared, parity, two, out, rows);
        else
            prefill_pair_right<tiles>(shared, parity, two, out, rows);
    }
    prefill_seesaw_finish(problem, shared, warpgroup, query, head0, out, rows);
}

/* Parts in the order in which they are given back: of block 0 the left values by warpgroup 0, of block 1 the right ones
 * by warpgroup 1, then what the other warpgroup reads last, the probabilities included. */
template <int tiles>
static __device__ __forceinline__ void prefill_seesaw_gather(const prefill_problem &problem,
                                                             const prefill_seesaw_shared &shared, int query)
{
    uint32_t parity = 1;
#pragma unroll 1
    for (int first = 0; first < problem.topk; first += 2 * prefill_block, parity ^= 1) {
        const bool two = first + prefill_block < problem.topk;
        const int32_t *list = prefill_list(problem, query) + first;
        const prefill_indices one(list), other(list + (two ? prefill_block : 0));
        for (int reader = 0; reader < 2; reader++) {
            mbarrier_wait(shared.empty(0, reader), parity);
            if (reader == 0)
                prefill_tell_keys(problem, shared, 0, one, shared.full(0, 0));
            prefill_gather_part<tiles>(problem, shared, 0, one, reader);
            if (reader == 1)
                prefill_gather_part<tiles>(problem, shared, 0, one, 2);
            if (!two)
                continue;
            mbarrier_wait(shared.empty(1, reader ^ 1), parity);
            if (reader == 0)
                prefill_tell_keys(problem, shared, 1, other, shared.full(1, 1));
            prefill_gather_part<tiles>(problem, shared, 1, other, reader ^ 1);
            if (reader == 1)
                prefill_gather_part<tiles>(problem, shared, 1, other, 2);
        }
    }
}

#endif

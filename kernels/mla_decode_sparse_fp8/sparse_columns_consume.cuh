/* SPDX-License-Identifier: Apache-2.0 */
/* Consumers of sparse_columns.cuh. Named barriers: 1 and 2 the turn of warpgroup 0 and 1, 3 and 4 of one warpgroup. */
#ifndef RIDGE_SPARSE_COLUMNS_CONSUME_CUH
#define RIDGE_SPARSE_COLUMNS_CONSUME_CUH

#include "kernels/mla_decode_sparse_fp8/sparse_columns.cuh"
#include "kernels/mla_decode_sparse_fp8/sparse_consume.cuh"

/* The same addresses, but no register keeps what is computed from them. */
static __device__ __forceinline__ columns_shared columns_again(const columns_shared &shared)
{
    return {__shfl_sync(~0u, shared.base, 0)};
}

/* This CTA's part of the scores of 64 heads and a block. */
static __device__ __forceinline__ void columns_scores(float (&score)[32], const columns_shared &shared, int warpgroup,
                                                      int stage)
{
    const uint64_t rope = wgmma_descriptor_128(shared.q_rope() + warpgroup * 64);
    const uint64_t rope_keys = wgmma_descriptor_128(shared.keys(stage) + 4 * mla_tile_bytes);
#pragma unroll
    for (int slice = 0; slice < 16; slice++) {
        const uint32_t at = slice / 4 * mla_tile_bytes + slice % 4 * 32;
        wgmma_f16_ss(score, wgmma_descriptor_advance(wgmma_descriptor_128(shared.q(warpgroup)), at),
                     wgmma_descriptor_advance(wgmma_descriptor_128(shared.keys(stage)), at), slice > 0);
    }
#pragma unroll
    for (int slice = 0; slice < 2; slice++)
        wgmma_bf16_ss(score, wgmma_descriptor_advance(rope, slice * 32),
                      wgmma_descriptor_advance(rope_keys, slice * 32), 1);
}

static __device__ __forceinline__ void columns_values(float (&out)[sparse_half / 2], const uint32_t (&p)[4][4],
                                                      uint32_t keys)
{
    const uint64_t values = wgmma_descriptor_128(keys, 1024, mla_tile_bytes);
#pragma unroll
    for (int slice = 0; slice < 4; slice++)
        wgmma_f16_rs<1>(out, p[slice], wgmma_descriptor_advance(values, slice * 2048), 1);
}

/* Sends this CTA's scores to the other. Each thread's go to the same thread. */
static __device__ __forceinline__ void columns_send(const float (&score)[32], const columns_shared &shared,
                                                    int warpgroup, int rank, uint32_t parity)
{
    const uint32_t to = cluster_map(shared.exchange(warpgroup), rank ^ 1) + threadIdx.x % 128 * 16;
    const uint32_t full = cluster_map(shared.scores_full(warpgroup), rank ^ 1);
    if (threadIdx.x % 128 == 0)
        mbarrier_arrive_expect(shared.scores_full(warpgroup), columns_exchange_bytes);
    mbarrier_wait(shared.scores_empty(warpgroup), parity ^ 1);
#pragma unroll
    for (int i = 0; i < 32; i += 4)
        st_async_v4(to + i / 4 * 2048,
                    make_uint4(__float_as_uint(score[i]), __float_as_uint(score[i + 1]), __float_as_uint(score[i + 2]),
                               __float_as_uint(score[i + 3])),
                    full);
}

/* Adds the other's. The sum is the same in both, bit by bit. */
static __device__ __forceinline__ void columns_receive(float (&score)[32], const columns_shared &shared, int warpgroup,
                                                       int rank, uint32_t parity)
{
    const uint32_t from = shared.exchange(warpgroup) + threadIdx.x % 128 * 16;
    mbarrier_wait(shared.scores_full(warpgroup), parity);
#pragma unroll
    for (int i = 0; i < 32; i += 4) {
        const uint4 other = ld_shared_volatile_v4(from + i / 4 * 2048);
        score[i] += __uint_as_float(other.x);
        score[i + 1] += __uint_as_float(other.y);
        score[i + 2] += __uint_as_float(other.z);
        score[i + 3] += __uint_as_float(other.w);
    }
    __syncwarp();
    if (threadIdx.x % 32 == 0)
        mbarrier_arrive_at(shared.scores_empty(warpgroup), rank ^ 1);
}

static __device__ __forceinline__ void columns_probabilities(float (&score)[32], uint32_t valid, mla_row_pair &rows,
                                                             float (&factor)[2], uint32_t (&p)[4][4])
{
    const float old[2] = {rows.max[0], rows.max[1]};
    sparse_mask(score, valid);
    mla_raise(rows.max, score);
#pragma unroll
    for (int half = 0; half < 2; half++) {
        factor[half] = mla_factor(old[half], rows.max[half]);
        rows.sum[half] *= factor[half];
    }
    mla_exponentiate(score, rows.max, rows.sum);
#pragma unroll
    for (int i = 0; i < 16; i++)
        p[i / 4][i % 4] = cvt_f16x2_f32(score[2 * i], score[2 * i + 1]);
}

/* The warpgroup's rows, this CTA's columns; a whole query through the memory of q. CTA 0 writes lse. */
template <int warpgroup>
static __device__ __forceinline__ void columns_finish(const sparse_arguments &arguments, const columns_shared &kept,
                                                      int query, int rank, const float (&out)[sparse_half / 2],
                                                      const mla_row_pair &rows)
{
    const sparse_problem &problem = arguments.problem;
    const columns_shared shared = columns_again(kept);
    constexpr int row0 = warpgroup * 64;
    const sparse_piece piece = /* computed again, so that no register keeps it */
        sparse_piece_of(problem, arguments.split, blockIdx.y, __shfl_sync(~0u, query, 0));
    float factor[2];
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int row = row0 + mla_row_in_tile(half);
        float sum = rows.sum[half] + __shfl_xor_sync(~0u, rows.sum[half], 1);
        sum += __shfl_xor_sync(~0u, sum, 2);
        const bool any = sum > 0 || sum != sum;
        const float lse = any ? rows.max[half] * sparse_scale_log2 + log2f(sum) : -INFINITY;
        factor[half] = any ? 1 / sum : 0;
        if (rank == 0 && threadIdx.x % 4 == 0 && piece.whole)
            problem.lse[sparse_lse_at(problem, piece.query, row)] = any ? lse * sparse_ln2 : INFINITY;
        else if (rank == 0 && threadIdx.x % 4 == 0)
            __stcg(arguments.split.part_lse + (int64_t)piece.slot * problem.h + row, lse);
    }
    const mla_problem dense = sparse_as_dense(problem);
    const mla_split split = {arguments.split.parts, arguments.split.part_out, arguments.split.part_lse};
    named_sync(3 + warpgroup, 128); /* all warps have read q */
    if (piece.whole)
        mla_store_whole(dense, shared.q(warpgroup) - rank * 4 * mla_tile_bytes, out, factor, rank, piece.query, row0);
    else
        mla_store_part(dense, split, out, factor, rank, piece.slot, row0);
}

/* A warpgroup's place in the kernel. */
struct columns_role {
    int rank;
    columns_place place;
    uint32_t parity; /* of the exchange */
    int last;        /* stage of the block before */
};

/* Scores and probabilities of a block, and values of the block before, if there is one. */
template <int warpgroup, bool first>
static __device__ __forceinline__ void columns_step(const columns_shared &kept, columns_role &role,
                                                    float (&out)[sparse_half / 2], mla_row_pair &rows,
                                                    uint32_t (&p)[4][4])
{
    const columns_shared shared = columns_again(kept);
    float score[32], factor[2];
    mbarrier_wait(shared.full(role.place.stage), role.place.parity);
    named_sync(1 + warpgroup, 256);
    wgmma_fence();
    columns_scores(score, shared, warpgroup, role.place.stage);
    wgmma_commit();
    if (!first) {
        columns_values(out, p, shared.keys(role.last));
        wgmma_commit();
    }
    named_arrive(2 - warpgroup, 256);
    wgmma_wait<first ? 0 : 1>();
    wgmma_settle(score);
    columns_send(score, shared, warpgroup, role.rank, role.parity);
    if (!first) {
        wgmma_wait<0>();
        wgmma_settle(out);
        mla_release(shared.empty(role.last));
    }
    columns_receive(score, shared, warpgroup, role.rank, role.parity);
    role.parity ^= 1;
    columns_probabilities(score, shared.valid(role.place.stage), rows, factor, p);
    if (!first)
        mla_scale_rows(out, factor);
    role.last = role.place.stage;
    role.place.advance();
}

template <int warpgroup>
static __device__ __forceinline__ void columns_consume(const sparse_arguments &arguments, const columns_shared &shared,
                                                       int rank)
{
    columns_role role = {rank, {0, 0}, 0, 0};
    if (warpgroup == 1)
        named_arrive(1, 256);
    sparse_each_piece(arguments.problem, arguments.split, blockIdx.y, [&](const sparse_piece &piece) {
        float out[sparse_half / 2];
        uint32_t p[4][4];
        mla_row_pair rows;
        columns_load_q(arguments.problem, shared, piece.query, warpgroup, rank);
        sparse_begin_rows(out, rows);
        columns_step<warpgroup, true>(shared, role, out, rows, p);
#pragma unroll 1
        for (int index = piece.first + 1; index < piece.last; index++)
            columns_step<warpgroup, false>(shared, role, out, rows, p);
        wgmma_fence();
        columns_values(out, p, shared.keys(role.last));
        wgmma_commit();
        wgmma_wait<0>();
        wgmma_settle(out);
        mla_release(shared.empty(role.last));
        columns_finish<warpgroup>(arguments, shared, piece.query, rank, out, rows);
    });
    if (warpgroup == 0)
        named_sync(1, 256); /* the last turn that warpgroup 1 gave */
}

#endif

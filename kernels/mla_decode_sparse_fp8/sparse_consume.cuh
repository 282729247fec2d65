/* SPDX-License-Identifier: Apache-2.0 */
/* Consumers of dequantised keys. Warpgroup 0 makes the scores and probabilities of a block, and each warpgroup its half
 * of the output. A block is given back as soon as its values are multiplied: scores of the next block queued behind
 * them would keep the tensor cores busy, but as long as producers are slower than consumers, an empty block is worth
 * more.
 */
#ifndef RIDGE_SPARSE_CONSUME_CUH
#define RIDGE_SPARSE_CONSUME_CUH

#include "kernels/mla_decode_sparse_fp8/sparse_meet.cuh"

static __device__ __forceinline__ void sparse_begin_rows(float (&out)[sparse_half / 2], mla_row_pair &rows)
{
    rows = {{-INFINITY, -INFINITY}, {0, 0}, {0, 0}};
#pragma unroll
    for (int i = 0; i < sparse_half / 2; i++)
        out[i] = 0;
}

/* Raises a row's maximum only where it grows by more than 2^8 in units of probabilities: sums, which FP32 holds, are
 * rescaled that seldom. */
static __device__ __forceinline__ void sparse_raise(float (&max)[2], const float (&score)[32])
{
    const float old[2] = {max[0], max[1]};
    mla_raise(max, score);
#pragma unroll
    for (int half = 0; half < 2; half++)
        if ((max[half] - old[half]) * sparse_scale_log2 <= 8)
            max[half] = old[half];
}

/* Scores of a block, when it is there; parity: of the blocks in its place. */
template <int ctas>
static __device__ __forceinline__ void sparse_scores(const sparse_shared &shared, int block, uint32_t parity,
                                                     float (&score)[32])
{
    mbarrier_wait(shared.full(block), parity);
    if (ctas == 1)
        fence_proxy_async(); /* of what producers stored */
    wgmma_fence();
#pragma unroll
    for (int tile = 0; tile < mla_tiles; tile++)
        mla_multiply_keys(score, shared.q() + tile * mla_tile_bytes, shared.keys(block) + tile * mla_tile_bytes,
                          tile > 0);
    wgmma_commit();
    wgmma_wait<0>();
    wgmma_settle(score);
}

/* Scores of a block become exponentials; factor, for warpgroup 1 too: what the sums so far are worth. */
template <bool checked>
static __device__ __forceinline__ void sparse_exponentials(const sparse_shared &shared, int block, float (&score)[32],
                                                           mla_row_pair &rows, float (&factor)[2])
{
    const float old[2] = {rows.max[0], rows.max[1]};
    if (checked)
        sparse_mask(score, shared.valid(block));
    sparse_raise(rows.max, score);
#pragma unroll
    for (int half = 0; half < 2; half++) {
        factor[half] = mla_factor(old[half], rows.max[half]);
        rows.sum[half] *= factor[half];
        if (threadIdx.x % 4 == 0)
            st_shared_f32(shared.factor(block, mla_row_in_tile(half)), factor[half]);
    }
    mla_exponentiate(score, rows.max, rows.sum);
}

/* Probabilities of block number `count`, for warpgroup 1. */
static __device__ __forceinline__ void sparse_hand_over(const sparse_shared &shared, uint32_t count,
                                                        const uint32_t (&p)[4][4])
{
    mbarrier_wait(shared.p_empty(), count & 1);
    mla_store_probabilities(shared.p(), p);
    mbarrier_arrive(shared.p_full());
}

/* End of a piece. parity: of the part's pieces. meets: parts add up by themselves what they leave of a cut query. */
template <bool meets = false>
static __device__ __forceinline__ void
sparse_finish(const sparse_arguments &arguments, const sparse_shared &shared, const sparse_piece &piece,
              uint32_t parity, int row0, int warpgroup, const float (&out)[sparse_half / 2], const mla_row_pair &rows)
{
    const mla_problem dense = sparse_as_dense(arguments.problem);
    const mla_split split = {arguments.split.parts, arguments.split.part_out, arguments.split.part_lse};
    float factor[2];
    sparse_total<meets>(arguments, shared, piece, parity, row0, warpgroup, rows, factor);
    if (piece.whole)
        mla_store_whole(dense, shared.q(), out, factor, warpgroup, piece.query, row0);
    else if (meets)
        sparse_meet_store(arguments.problem, arguments.split, piece, warpgroup, out, factor);
    else
        mla_store_part(dense, split, out, factor, warpgroup, piece.slot, row0);
    fence_proxy_async();
    __syncwarp();
    if (threadIdx.x % 32 == 0)
        mbarrier_arrive(shared.q_empty());
}

template <int ctas, bool checked, bool meets = false>
static __device__ __forceinline__ void sparse_consume_left(const sparse_arguments &arguments,
                                                           const sparse_shared &shared, int row0)
{
    uint32_t parity = 0, count = 0;
    sparse_each_piece(arguments.problem, arguments.split, blockIdx.y, [&](const sparse_piece &piece) {
        float out[sparse_half / 2], score[32], factor[2];
        uint32_t p[4][4];
        mla_row_pair rows;
        sparse_begin_rows(out, rows);
        if (threadIdx.x == 0)
            sparse_load_q(arguments, shared, piece.query * arguments.problem.h + row0, parity);
        mbarrier_wait(shared.q_full(), parity);
#pragma unroll 1
        for (int index = piece.first; index < piece.last; index++, count++) {
            const int block = count & 1;
            sparse_scores<ctas>(shared, block, count / 2 & 1, score);
            sparse_exponentials<checked>(shared, block, score, rows, factor);
            mla_round(p, score);
            sparse_hand_over(shared, count, p);
            mla_scale_rows(out, factor);
            wgmma_fence();
            mla_add_values(out, p, shared.keys(block), 0);
            wgmma_commit();
            wgmma_wait<0>(); /* the next scores are not queued behind them: a block is given back as soon as it can be
                              */
            wgmma_settle(out);
            sparse_release<ctas>(shared, block);
        }
        sparse_finish<meets>(arguments, shared, piece, parity, row0, 0, out, rows);
        parity ^= 1;
    });
}

template <int ctas, bool meets = false>
static __device__ __forceinline__ void sparse_consume_right(const sparse_arguments &arguments,
                                                            const sparse_shared &shared, int row0)
{
    uint32_t parity = 0, count = 0;
    sparse_each_piece(arguments.problem, arguments.split, blockIdx.y, [&](const sparse_piece &piece) {
        float out[sparse_half / 2], factor[2];
        mla_row_pair rows;
        sparse_begin_rows(out, rows);
#pragma unroll 1
        for (int index = piece.first; index < piece.last; index++, count++) {
            const int block = count & 1;
            mbarrier_arrive(shared.p_empty());
            mbarrier_wait(shared.p_full(), count & 1);
            for (int half = 0; half < 2; half++)
                factor[half] = ld_shared_f32(shared.factor(block, mla_row_in_tile(half)));
            mla_scale_rows(out, factor);
            wgmma_fence();
            mla_add_values(out, shared.p(), shared.keys(block), 1);
            wgmma_commit();
            wgmma_wait<0>();
            wgmma_settle(out);
            sparse_release<ctas>(shared, block);
        }
        sparse_finish<meets>(arguments, shared, piece, parity, row0, 1, out, rows);
        parity ^= 1;
    });
}

#endif

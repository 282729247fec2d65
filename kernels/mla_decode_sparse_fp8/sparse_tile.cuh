/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building blocks of the WGMMA kernels: 64 heads of a query a CTA. As in mla_decode_tile.cuh, whose parts these use,
 * shared memory holds Q and two blocks of 64 keys, each as nine tiles of 64 rows x 64 columns; but keys come from a
 * warpgroup of producers, which gathers tokens into registers, dequantises and stores them. Warpgroup 0 makes scores
 * and probabilities and the left half of the output, warpgroup 1 the right half.
 *
 * ctas 2: a cluster has both halves of 128 heads. Each CTA dequantises half of the tokens and stores them in both.
 */
#ifndef RIDGE_SPARSE_TILE_CUH
#define RIDGE_SPARSE_TILE_CUH

#include "kernels/mla_decode/mla_decode_pieces.cuh"
#include "kernels/mla_decode_sparse_fp8/sparse_split.cuh"
#include "kernels/support/tensor_map.h"

constexpr int sparse_rows = 64, sparse_threads = 384, sparse_half = sparse_d_v / 2;
constexpr int sparse_left_registers = 200, sparse_right_registers = 168, sparse_producer_registers = 136;

/* Shared memory: q, two blocks of keys, probabilities, a row's factor for each block and in the end, valid tokens,
 * barriers. In the crossover keys are on their way to the other CTA while this one has them, so probabilities have a
 * tile of their own. */
constexpr int sparse_keys_at = mla_block_bytes, sparse_p_at = 3 * mla_block_bytes;
constexpr int sparse_rows_at = sparse_p_at + mla_tile_bytes;
constexpr int sparse_valid_at = sparse_rows_at + 3 * sparse_rows * (int)sizeof(float);
constexpr int sparse_barriers_at = sparse_valid_at + 2 * 8, sparse_shared_bytes = sparse_barriers_at + 8 * 10;
static_assert(sparse_shared_bytes % 16 == 0 && sparse_shared_bytes <= 232448, "more than the shared memory of a block");

struct sparse_arguments {
    CUtensorMap q; /* boxes of 64 rows x 64 columns */
    sparse_problem problem;
    sparse_split split;
};

/* Addresses of a CTA's shared memory. */
struct sparse_shared {
    uint32_t base;

    __device__ uint32_t q() const
    {
        return base;
    }
    __device__ uint32_t keys(int block) const
    {
        return base + sparse_keys_at + block * mla_block_bytes;
    }
    __device__ uint32_t p() const
    {
        return base + sparse_p_at;
    }
    __device__ uint32_t factor(int block, int row) const
    {
        return base + sparse_rows_at + (block * sparse_rows + row) * 4;
    }
    /* What the row's output is multiplied by in the end. */
    __device__ uint32_t total(int row) const
    {
        return factor(2, row);
    }
    /* A bit a token. */
    __device__ uint32_t valid(int block) const
    {
        return base + sparse_valid_at + block * 8;
    }
    __device__ uint32_t q_full() const
    {
        return base + sparse_barriers_at;
    }
    __device__ uint32_t q_empty() const
    {
        return base + sparse_barriers_at + 8;
    }
    __device__ uint32_t full(int block) const
    {
        return base + sparse_barriers_at + 16 + block * 8;
    }
    __device__ uint32_t empty(int block) const
    {
        return base + sparse_barriers_at + 32 + block * 8;
    }
    /* Probabilities of the next block, and what goes with them. */
    __device__ uint32_t p_full() const
    {
        return base + sparse_barriers_at + 48;
    }
    __device__ uint32_t p_empty() const
    {
        return base + sparse_barriers_at + 56;
    }
    __device__ uint32_t total_full() const
    {
        return base + sparse_barriers_at + 64;
    }
};

/* full: the arrivals of this CTA's producers, and in a cluster the bytes of the other's. empty: of all CTAs' consumers.
 * Where a warpgroup waits for the other's stores all lanes arrive: racecheck does not see
 * that a lane which arrives for its warp does so for the stores of all (tests/racecheck_barriers.cu). */
template <int ctas> static __device__ __forceinline__ void sparse_init_barriers(const sparse_shared &shared)
{
    mbarrier_init(shared.q_full(), 1);
    mbarrier_init(shared.q_empty(), 8);
    for (int block = 0; block < 2; block++) {
        mbarrier_init(shared.full(block), ctas == 1 ? 8 : 5);
        mbarrier_init(shared.empty(block), 8 * ctas);
    }
    mbarrier_init(shared.p_full(), 128);
    mbarrier_init(shared.p_empty(), 128);
    mbarrier_init(shared.total_full(), 128);
    mbarrier_init_fence();
}

template <int ctas> static __device__ __forceinline__ void sparse_release(const sparse_shared &shared, int block)
{
    __syncwarp();
    if (threadIdx.x % 32 == 0) {
        mbarrier_arrive(shared.empty(block));
        if (ctas == 2)
            mbarrier_arrive_at(shared.empty(block), cluster_rank() ^ 1);
    }
}

/* Scores of tokens that are not there become -inf. */
static __device__ __forceinline__ void sparse_mask(float (&score)[32], uint32_t valid)
{
    const float2 words = ld_shared_v2_f32(valid);
    const uint32_t low = __float_as_uint(words.x), high = __float_as_uint(words.y);
    if ((low & high) == ~0u)
        return;
#pragma unroll
    for (int i = 0; i < 32; i++)
        if (!((i < 16 ? low : high) >> wgmma_column(threadIdx.x, i) % 32 & 1))
            score[i] = -INFINITY;
}

static __device__ __forceinline__ void sparse_load_q(const sparse_arguments &arguments, const sparse_shared &shared,
                                                     int row, uint32_t parity)
{
    mbarrier_wait(shared.q_empty(), parity ^ 1);
    mbarrier_arrive_expect(shared.q_full(), mla_block_bytes);
    for (int tile = 0; tile < mla_tiles; tile++)
        tma_load(shared.q() + tile * mla_tile_bytes, &arguments.q, tile * 64, row, shared.q_full());
}

/* The stores of mla_decode take a query for a request of one query token. */
static __device__ __forceinline__ mla_problem sparse_as_dense(const sparse_problem &problem)
{
    mla_problem dense = {};
    dense.out = problem.out;
    dense.s_q = 1;
    dense.h = problem.h;
    return dense;
}

/* Of a row whose probabilities under `max` add up to `sum`; one thread in four stores. place: in a partial result. */
static __device__ __forceinline__ void sparse_store_lse(const sparse_arguments &arguments, const sparse_piece &piece,
                                                        int row, int place, float sum, float max)
{
    const sparse_problem &problem = arguments.problem;
    const float lse = sum > 0 || sum != sum ? max * sparse_scale_log2 + log2f(sum) : -INFINITY;
    if (threadIdx.x % 4 == 0 && piece.whole)
        problem.lse[sparse_lse_at(problem, piece.query, row)] = lse == -INFINITY ? INFINITY : lse * sparse_ln2;
    else if (threadIdx.x % 4 == 0)
        __stcg(arguments.split.part_lse + (int64_t)piece.slot * problem.h + place, lse);
}

/* What the rows' sums make of the output. Warpgroup 0 has the sums, writes lse, and leaves factors for warpgroup 1.
 * (A named barrier at which both wait, each in its own code, is divergent to synccheck.) pairs: rows r and r + 8 of a
 * warp lie side by side in a partial result. */
template <bool pairs>
static __device__ __forceinline__ void sparse_total(const sparse_arguments &arguments, const sparse_shared &shared,
                                                    const sparse_piece &piece, uint32_t parity, int row0, int warpgroup,
                                                    const mla_row_pair &rows, float (&factor)[2])
{
    if (warpgroup == 1) {
        mbarrier_wait(shared.total_full(), parity);
        for (int half = 0; half < 2; half++)
            factor[half] = ld_shared_f32(shared.total(mla_row_in_tile(half)));
        return;
    }
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float sum = rows.sum[half] + __shfl_xor_sync(~0u, rows.sum[half], 1);
        sum += __shfl_xor_sync(~0u, sum, 2);
        factor[half] = sum > 0 || sum != sum ? 1 / sum : 0;
        st_shared_f32(shared.total(mla_row_in_tile(half)), factor[half]); /* four lanes the same */
        const int row = row0 + mla_row_in_tile(half), pair = threadIdx.x / 4 * 2;
        sparse_store_lse(arguments, piece, row, pairs ? row0 + pair + half : row, sum, rows.max[half]);
    }
    mbarrier_arrive(shared.total_full());
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of 04 and 07; see sparse_folded.cuh. Roles as in sparse_consume.cuh; warpgroup 1 takes
 * probabilities from shared memory and makes the copies for its own columns. */
#ifndef RIDGE_SPARSE_FOLDED_KERNEL_CUH
#define RIDGE_SPARSE_FOLDED_KERNEL_CUH

#include "kernels/mla_decode_sparse_fp8/sparse_folded.cuh"
#include "kernels/mla_decode_sparse_fp8/sparse_kernel.cuh"

constexpr int folded_left_registers = 224, folded_right_registers = 200, folded_producer_registers = 80;

/* sparse_each_piece in one loop, which keeps less in registers. */
template <typename function>
static __device__ __forceinline__ void folded_each_piece(const sparse_problem &problem, const sparse_split &split,
                                                         int part, const function &of_piece)
{
    const int units = sparse_units(problem), begin = part * split.share;
    const int last = min((begin + split.share + units - 1) / units, problem.queries);
    for (int query = begin / units; query < last; query++) {
        const sparse_piece piece = sparse_piece_of(problem, split, part, query);
        if (piece.last > piece.first)
            of_piece(piece);
    }
}

template <int ctas>
static __device__ __forceinline__ void folded_left(const sparse_arguments &arguments, const folded_shared &shared,
                                                   int row0)
{
    uint32_t parity = 0, count = 0;
    folded_each_piece(arguments.problem, arguments.split, blockIdx.y, [&](const sparse_piece &piece) {
        folded_sums sums;
        mla_row_pair rows = {{-INFINITY, -INFINITY}, {0, 0}, {0, 0}};
        folded_begin(sums);
        if (threadIdx.x == 0)
            sparse_load_q(arguments, shared, piece.query * arguments.problem.h + row0, parity);
        mbarrier_wait(shared.q_full(), parity);
        folded_convert_q(shared.q());
#pragma unroll 1
        for (int index = piece.first; index < piece.last; index++, count++) {
            const int block = count & 1;
            float score[32], factor[2];
            uint32_t probability[4][4], p[2][4][4];
            mbarrier_wait(shared.full(block), count / 2 & 1);
            if (ctas == 1)
                fence_proxy_async(); /* of what producers stored */
            folded_scores(score, shared, block);
            sparse_exponentials<true>(shared, block, score, rows, factor);
            folded_round(probability, score);
            sparse_hand_over(shared, count, probability);
            folded_values(sums, factor, probability, p, shared, block, 0);
            wgmma_wait<0>();
            folded_settle(sums);
            sparse_release<ctas>(shared, block);
        }
        float out[128];
        folded_undo(sums, out);
        sparse_finish(arguments, shared, piece, parity, row0, 0, out, rows);
        parity ^= 1;
    });
}

template <int ctas>
static __device__ __forceinline__ void folded_right(const sparse_arguments &arguments, const folded_shared &shared,
                                                    int row0)
{
    uint32_t parity = 0, count = 0;
    folded_each_piece(arguments.problem, arguments.split, blockIdx.y, [&](const sparse_piece &piece) {
        folded_sums sums;
        mla_row_pair rows = {};
        folded_begin(sums);
#pragma unroll 1
        for (int index = piece.first; index < piece.last; index++, count++) {
            const int block = count & 1;
            float factor[2];
            uint32_t probability[4][4], p[2][4][4];
            mbarrier_arrive(shared.p_empty());
            mbarrier_wait(shared.p_full(), count & 1);
            for (int half = 0; half < 2; half++)
                factor[half] = ld_shared_f32(shared.factor(block, mla_row_in_tile(half)));
            folded_load_probabilities(probability, shared.p());
            folded_values(sums, factor, probability, p, shared, block, 2);
            wgmma_wait<0>();
            folded_settle(sums);
            sparse_release<ctas>(shared, block);
        }
        float out[128];
        folded_undo(sums, out);
        sparse_finish(arguments, shared, piece, parity, row0, 1, out, rows);
        parity ^= 1;
    });
}

/* blockIdx: 64 heads, part. Not checked: no comparisons and no bits, but predicates and masks, without which ptxas
 * spills: all tokens are there. */
template <int ctas, bool checked>
static __global__ void __launch_bounds__(sparse_threads, 1)
    folded_kernel(const __grid_constant__ sparse_arguments arguments)
{
    extern __shared__ __align__(1024) char memory[];
    const folded_shared shared = {{shared_address(memory)}};
    const int row0 = blockIdx.x * sparse_rows, warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);
    if (!checked && threadIdx.x < 2)
        st_shared_v2_f32(shared.valid(threadIdx.x), __uint_as_float(~0u), __uint_as_float(~0u));
    sparse_start<ctas>(shared);
    if (warpgroup == 2) {
        registers_give<folded_producer_registers>();
        sparse_produce<folded_codes, ctas, checked>(arguments, shared);
    } else if (warpgroup == 0) {
        registers_take<folded_left_registers>();
        folded_left<ctas>(arguments, shared, row0);
    } else {
        registers_take<folded_right_registers>();
        folded_right<ctas>(arguments, shared, row0);
    }
    if (ctas == 2)
        cluster_sync(); /* the other may still send to this CTA, or arrive at its barriers */
}

/* `times`: how often a query's token is converted. The products with scales are FP32. */
static inline void folded_issued(const int64_t *dim, double times, struct ridge_work *work)
{
    const double scores = work->exp;
    sparse_issued(dim, times, work);
    work->cvt_f16_f32 = work->cvt_f32_bf16 = 0;
    work->flop_fp32 = 4 * 2 * scores + 4 * scores;
}

#endif

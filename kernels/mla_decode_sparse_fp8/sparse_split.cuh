/* SPDX-License-Identifier: Apache-2.0 */
/* Work over parts, by mla_decode_share.h: every query has the same number of blocks of 64 tokens, so a part computes
 * its share from its number alone. A query that is cut leaves a partial result a part, which the combine adds up. */
#ifndef RIDGE_SPARSE_SPLIT_CUH
#define RIDGE_SPARSE_SPLIT_CUH

#include "kernels/mla_decode/mla_decode_share.h"
#include "kernels/mla_decode_sparse_fp8/sparse_gpu.cuh"
#include "kernels/ptx/grid.cuh"

#include <math.h>

constexpr int sparse_block_tokens = MLA_BLOCK_KEYS;

struct sparse_split {
    int parts, share; /* share: units a part */
    float *part_out;  /* [2 parts][h][512]: averages, weighted by probability */
    float *part_lse;  /* [2 parts][h], base 2 */
};

static __host__ __device__ __forceinline__ int sparse_blocks(const sparse_problem &problem)
{
    return problem.topk / sparse_block_tokens;
}

static __host__ __device__ __forceinline__ int sparse_units(const sparse_problem &problem)
{
    return sparse_blocks(problem) + MLA_OVERHEAD;
}

/* Blocks [first, last) of a query. */
struct sparse_piece {
    int query, first, last, slot;
    bool whole;
};

/* What a part has of a query; nothing: last is not above first. */
static __device__ __forceinline__ sparse_piece sparse_piece_of(const sparse_problem &problem, const sparse_split &split,
                                                               int part, int query)
{
    const int begin = part * split.share;
    const mla_bounds bounds =
        mla_bounds_of(begin, begin + split.share, query * sparse_units(problem), sparse_blocks(problem), part);
    return {query, bounds.first, bounds.last, bounds.slot, bounds.whole};
}

/* Pieces of a part, in the order in which producers and consumers walk them. */
template <typename function>
static __device__ __forceinline__ void sparse_each_piece(const sparse_problem &problem, const sparse_split &split,
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

constexpr int sparse_combine_threads = 128;

/* A block has one row of a query, blockIdx: query, head; a thread has four columns. */
static __global__ void __launch_bounds__(sparse_combine_threads)
    sparse_combine(sparse_problem problem, sparse_split split)
{
    const int query = blockIdx.x, head = blockIdx.y, column = threadIdx.x * 4;
    const mla_parts of = mla_parts_of(query * sparse_units(problem), sparse_blocks(problem), split.share);
    if (of.first == of.last)
        return;
    grid_wait();
    float max = -INFINITY, sum = 0;
    float4 total = {};
#pragma unroll 4
    for (int part = of.first; part <= of.last; part++) {
        const int64_t slot = (int64_t)mla_slot(part, of.first) * problem.h + head;
        const float lse = __ldcg(split.part_lse + slot), high = fmaxf(max, lse);
        const float4 mine = __ldcg((const float4 *)(split.part_out + slot * sparse_d_v + column));
        const float old = max == -INFINITY ? 0 : exp2f(max - high), factor = lse == -INFINITY ? 0 : exp2f(lse - high);
        max = high;
        sum = sum * old + factor;
        total = {total.x * old + mine.x * factor, total.y * old + mine.y * factor, total.z * old + mine.z * factor,
                 total.w * old + mine.w * factor};
    }
    const float inverse = max == -INFINITY ? 0 : 1 / sum;
    uint32_t *out = (uint32_t *)(problem.out + ((int64_t)query * problem.h + head) * sparse_d_v + column);
    out[0] = cvt_bf16x2_f32(total.x * inverse, total.y * inverse);
    out[1] = cvt_bf16x2_f32(total.z * inverse, total.w * inverse);
    if (threadIdx.x == 0)
        problem.lse[sparse_lse_at(problem, query, head)] =
            max == -INFINITY ? INFINITY : (max + log2f(sum)) * sparse_ln2;
}

/* The blocks are in place before the kernel in front has ended, and wait for it in grid_wait(). */
static inline int sparse_launch_combine(const struct ridge_call *call, const sparse_problem &problem,
                                        const sparse_split &split)
{
    if (split.share % sparse_units(problem) == 0)
        return 0;
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)problem.queries, (unsigned)problem.h);
    config.blockDim = dim3(sparse_combine_threads);
    config.stream = ridge_stream(call);
    config.attrs = &attribute;
    config.numAttrs = 1;
    return ridge_cuda_status(call, cudaLaunchKernelEx(&config, sparse_combine, problem, split), __FILE__, __LINE__,
                             "launch of the combine");
}

static inline int sparse_share(const int64_t *dim, int parts)
{
    const int64_t units = dim[SPARSE_TOPK] / sparse_block_tokens + MLA_OVERHEAD;
    return mla_share((int)(sparse_queries(dim) * units), (int)sparse_queries(dim), parts);
}

static inline size_t sparse_split_bytes(const int64_t *dim, int parts)
{
    return (size_t)(2 * parts * dim[SPARSE_H]) * (sparse_d_v + 1) * sizeof(float);
}

static inline sparse_split sparse_split_of(const struct ridge_call *call, int parts)
{
    const int64_t rows = 2 * parts * call->dim[SPARSE_H];
    float *out = (float *)call->workspace;
    return {parts, sparse_share(call->dim, parts), out, out + rows * sparse_d_v};
}

#endif

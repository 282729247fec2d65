/* SPDX-License-Identifier: Apache-2.0 */
/* Work over parts, by mla_decode_share.h: every query has the same number of blocks of 64 tokens, so a part computes
 * its share from its number alone. A query that is cut leaves a partial result a part, which the combine adds up, or
 * parts that meet (sparse_meet.cuh). */
#ifndef RIDGE_SPARSE_SPLIT_CUH
#define RIDGE_SPARSE_SPLIT_CUH

#include "kernels/mla_decode/mla_decode_share.h"
#include "kernels/mla_decode_sparse_fp8/sparse_gpu.cuh"
#include "kernels/ptx/grid.cuh"

#include <math.h>

constexpr int sparse_block_tokens = MLA_BLOCK_KEYS;

struct sparse_split {
    int parts, share;  /* share: units a part */
    float *part_out;   /* [2 parts][h][512]: averages, weighted by probability; FP16 and units where parts meet */
    float *part_lse;   /* [2 parts][h], base 2 */
    unsigned *meeting; /* [parts][h / 64]: counters where parts meet, NULL otherwise */
};

static __host__ __device__ __forceinline__ int sparse_blocks(const sparse_problem &problem)
{
    return problem.topk / sparse_block_tokens;
}

static __host__ __device__ __forceinline__ int sparse_units(const sparse_problem &problem)
{
    return sparse_blocks(problem) + problem.overhead;
}

/* The unit that mla_decode_share.h takes for a query's first: it counts MLA_OVERHEAD from there to block 0. */
static __host__ __device__ __forceinline__ int sparse_start(const sparse_problem &problem, int query)
{
    return query * sparse_units(problem) + problem.overhead - MLA_OVERHEAD;
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
        mla_bounds_of(begin, begin + split.share, sparse_start(problem, query), sparse_blocks(problem), part);
    return {query, bounds.first, bounds.last, bounds.slot, bounds.whole};
}

/* The part's first piece from query `query` on; none: last is not above first. */
static __device__ __forceinline__ sparse_piece sparse_piece_from(const sparse_problem &problem,
                                                                 const sparse_split &split, int part, int query)
{
    const int units = sparse_units(problem), end = (part + 1) * split.share;
    const int queries = min((end + units - 1) / units, problem.queries);
    sparse_piece piece = {query, 0, 0, 0, false};
    for (; query < queries && piece.last <= piece.first; query++)
        piece = sparse_piece_of(problem, split, part, query);
    return piece;
}

static __device__ __forceinline__ sparse_piece sparse_first_piece(const sparse_problem &problem,
                                                                  const sparse_split &split, int part)
{
    return sparse_piece_from(problem, split, part, part * split.share / sparse_units(problem));
}

/* Pieces of a part, in the order in which producers and consumers walk them. */
template <typename function>
static __device__ __forceinline__ void sparse_each_piece(const sparse_problem &problem, const sparse_split &split,
                                                         int part, const function &of_piece)
{
    sparse_piece piece = sparse_first_piece(problem, split, part);
    for (; piece.last > piece.first; piece = sparse_piece_from(problem, split, part, piece.query + 1))
        of_piece(piece);
}

constexpr int sparse_combine_threads = 128, sparse_combine_batch = 8;

/* A row's sums over the parts so far: of weights, and of four columns of weighted averages; weights relative to max. */
struct sparse_sums {
    float max, sum;
    float4 total;
};

/* Adds parts `first` to `last`, at most a batch: all loads are under way before the first is used. */
static __device__ __forceinline__ void sparse_add_parts(const sparse_problem &problem, const sparse_split &split,
                                                        int begin, int first, int last, int head, int column,
                                                        sparse_sums &sums)
{
    float lse[sparse_combine_batch], high = sums.max;
    float4 value[sparse_combine_batch];
#pragma unroll
    for (int i = 0; i < sparse_combine_batch; i++) {
        const int64_t slot = (int64_t)mla_slot(first + i, begin) * problem.h + head;
        lse[i] = first + i <= last ? __ldcg(split.part_lse + slot) : -INFINITY;
        value[i] = first + i <= last ? __ldcg((const float4 *)(split.part_out + slot * sparse_d_v + column)) : float4{};
    }
#pragma unroll
    for (int i = 0; i < sparse_combine_batch; i++)
        high = fmaxf(high, lse[i]);
    const float old = sums.max == -INFINITY ? 0 : exp2f(sums.max - high);
    float4 &total = sums.total;
    sums.max = high;
    sums.sum *= old;
    total = {total.x * old, total.y * old, total.z * old, total.w * old};
#pragma unroll
    for (int i = 0; i < sparse_combine_batch; i++) {
        const float factor = lse[i] == -INFINITY ? 0 : exp2f(lse[i] - high);
        sums.sum += factor;
        total = {total.x + value[i].x * factor, total.y + value[i].y * factor, total.z + value[i].z * factor,
                 total.w + value[i].w * factor};
    }
}

/* A block has one row of a query, blockIdx: query, head; a thread has four columns. */
static __global__ void __launch_bounds__(sparse_combine_threads)
    sparse_combine(sparse_problem problem, sparse_split split)
{
    const int query = blockIdx.x, head = blockIdx.y, column = threadIdx.x * 4;
    const mla_parts of = mla_parts_of(sparse_start(problem, query), sparse_blocks(problem), split.share);
    if (of.first == of.last)
        return;
    grid_wait();
    sparse_sums sums = {-INFINITY, 0, {}};
    for (int part = of.first; part <= of.last; part += sparse_combine_batch)
        sparse_add_parts(problem, split, of.first, part, of.last, head, column, sums);
    const float inverse = sums.sum == 0 ? 0 : 1 / sums.sum; /* without a maximum, but not 0: all parts are NaN */
    uint32_t *out = (uint32_t *)(problem.out + ((int64_t)query * problem.h + head) * sparse_d_v + column);
    out[0] = cvt_bf16x2_f32(sums.total.x * inverse, sums.total.y * inverse);
    out[1] = cvt_bf16x2_f32(sums.total.z * inverse, sums.total.w * inverse);
    if (threadIdx.x == 0)
        problem.lse[sparse_lse_at(problem, query, head)] =
            sums.sum == 0 ? INFINITY : (sums.max + log2f(sums.sum)) * sparse_ln2;
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

/* Where every query is cut into many pieces, each costs as much beside its blocks: blocks alone are shared out. */
static inline int sparse_overhead(const int64_t *dim, int parts)
{
    return parts >= 4 * sparse_queries(dim) ? 0 : MLA_OVERHEAD;
}

static inline int sparse_share(const int64_t *dim, int parts)
{
    const int64_t units = dim[SPARSE_TOPK] / sparse_block_tokens + sparse_overhead(dim, parts);
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
    return {parts, sparse_share(call->dim, parts), out, out + rows * sparse_d_v, NULL};
}

#endif

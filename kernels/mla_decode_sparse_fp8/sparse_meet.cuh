/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Partial results added up by the CTAs that made them, as in mla_decode_meet.cuh: the parts of a cut query meet at a
 * counter in memory of the state, 0 between launches, and each adds up an equal share. The eight warps of a part's
 * consumers arrive, wait and leave by themselves, without a barrier between them. The order of a sum depends on the
 * parts alone.
 *
 * Partial results are FP16 in units of their own, so that half of the bytes are written and read: a power of two a row
 * and tile of 128 columns, in which the largest value is 2^14 to 2^15. They are off by 2^-11 of themselves at most, an
 * eighth of what the result in BF16 may be, or by 2^-39 of the largest. They lie as wgmma leaves them: eight
 * accumulators of a thread, four columns of each of two rows, are an element of 16 bytes and follow those of the lane
 * before.
 */
#ifndef RIDGE_SPARSE_MEET_CUH
#define RIDGE_SPARSE_MEET_CUH

#include "kernels/mla_decode_sparse_fp8/sparse_tile.cuh"
#include "kernels/ptx/half.cuh"
#include "kernels/ptx/signal.cuh"

constexpr int sparse_meet_warps = 8, sparse_meet_threads = 32 * sparse_meet_warps, sparse_meet_batch = 16;
/* Of a tile: 32 (16 (2 w + g) + i) + l are accumulators 8 i to 8 i + 7 of lane l of warp w of warpgroup g. */
constexpr int sparse_elements = sparse_rows * sparse_d_v / 8, sparse_warp_elements = sparse_elements / 8;

static __device__ __forceinline__ uint4 *sparse_partial(const sparse_split &split, int slot)
{
    return (uint4 *)split.part_out + ((int64_t)slot * gridDim.x + blockIdx.x) * sparse_elements;
}

/* Two floats for rows r and r + 8 of a warp: log-sums, and, in the second half of the memory of FP32 results, units. */
static __device__ __forceinline__ float2 *sparse_pair_lse(const sparse_split &split, int slot)
{
    return (float2 *)split.part_lse + ((int64_t)slot * gridDim.x + blockIdx.x) * (sparse_rows / 2);
}

static __device__ __forceinline__ float2 *sparse_pair_unit(const sparse_split &split, int slot, int tile)
{
    float2 *units = (float2 *)split.part_out + (int64_t)split.parts * gridDim.x * sparse_rows * sparse_d_v / 2;
    return units + (((int64_t)slot * gridDim.x + blockIdx.x) * 4 + tile) * (sparse_rows / 2);
}

static __device__ __forceinline__ unsigned *sparse_counter(const sparse_split &split, int first)
{
    return split.meeting + first * gridDim.x + blockIdx.x;
}

static __device__ __forceinline__ mla_parts sparse_parts_of(const sparse_problem &problem, const sparse_split &split,
                                                            int query)
{
    return mla_parts_of(sparse_start(problem, query), sparse_blocks(problem), split.share);
}

/* Arrivals, then departures: after the last of them the counter is 0 again. */
static __device__ __forceinline__ unsigned sparse_last_count(const mla_parts &parts)
{
    return 2 * sparse_meet_warps * (parts.last - parts.first + 1) - 1;
}

static __device__ __forceinline__ float sparse_max_of_four(float v)
{
    v = fmaxf(v, __shfl_xor_sync(~0u, v, 1));
    return fmaxf(v, __shfl_xor_sync(~0u, v, 2));
}

/* A row's unit in tile `tile` of the warpgroup's two, from this thread's columns and those of the three others that
 * have the row. Normal, and so is its inverse. */
static __device__ __forceinline__ float sparse_unit(const float (&out)[sparse_half / 2], float factor, int half,
                                                    int tile)
{
    float high = 0;
#pragma unroll
    for (int i = 0; i < sparse_half / 4; i++)
        if (i / 2 % 2 == half)
            high = fmaxf(high, fabsf(out[tile * sparse_half / 4 + i]));
    high = sparse_max_of_four(high) * factor;
    high = fminf(fmaxf(high, 0x1p-100f), 0x1p126f); /* NaN: 2^-100 */
    return __uint_as_float(__float_as_uint(high) & 0x7f800000) * 0x1p-14f;
}

/* A warp's rows of a piece that is not whole, whose log-sums are stored. A whole warp calls. */
static __device__ __forceinline__ void sparse_meet_store(const sparse_problem &problem, const sparse_split &split,
                                                         const sparse_piece &piece, int warpgroup,
                                                         const float (&out)[sparse_half / 2], const float (&factor)[2])
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    uint4 *to = sparse_partial(split, piece.slot) + (2 * warp + warpgroup) * sparse_warp_elements + lane;
#pragma unroll
    for (int tile = 0; tile < 2; tile++) {
        const int first = tile * sparse_half / 4;
        const float2 unit = {sparse_unit(out, factor[0], 0, tile), sparse_unit(out, factor[1], 1, tile)};
        const float upper = factor[0] * (1 / unit.x), lower = factor[1] * (1 / unit.y);
#pragma unroll
        for (int i = 0; i < sparse_half / 4; i += 8) {
            uint32_t word[4];
#pragma unroll
            for (int j = 0; j < 4; j++)
                word[j] = cvt_f16x2_f32(out[first + i + 2 * j] * (j % 2 ? lower : upper),
                                        out[first + i + 2 * j + 1] * (j % 2 ? lower : upper));
            __stcg(to + (first + i) * 4, make_uint4(word[0], word[1], word[2], word[3]));
        }
        if (lane % 4 == 0)
            __stcg(sparse_pair_unit(split, piece.slot, 2 * warpgroup + tile) + warp * 8 + lane / 4, unit);
    }
    __syncwarp();
    const mla_parts parts = sparse_parts_of(problem, split, piece.query);
    if (lane == 0)
        signal_count(sparse_counter(split, parts.first), sparse_last_count(parts));
}

/* An element's sums over the parts so far, four columns of rows r and r + 8. */
struct sparse_pair_sums {
    float value[2][4];
    float max[2], sum[2];
};

/* What is weighed with exp2(lse), under `max`. */
static __device__ __forceinline__ float sparse_weight(float lse, float max)
{
    return ex2(lse - (max == -INFINITY ? 0 : max));
}

static __device__ __forceinline__ void sparse_weigh(float (&sum)[4], uint32_t low, uint32_t high, float weight)
{
    const uint32_t words[2] = {low, high};
#pragma unroll
    for (int i = 0; i < 4; i++)
        sum[i] = fmaf(cvt_f32_f16((uint16_t)(words[i / 2] >> i % 2 * 16)), weight, sum[i]);
}

/* Of four threads with the same rows each has the weights of every fourth part. */
template <int batch> struct sparse_weights {
    float lse[2][batch / 4], unit[2][batch / 4];
};

/* Log-sums become weights times units, and sums so far are brought under the new maximum. */
template <int batch>
static __device__ __forceinline__ void sparse_weights_of(sparse_weights<batch> &weights, int half,
                                                         sparse_pair_sums &sums)
{
    float max = -INFINITY, sum = 0;
#pragma unroll
    for (int i = 0; i < batch / 4; i++)
        max = fmaxf(max, weights.lse[half][i]);
    max = fmaxf(sums.max[half], sparse_max_of_four(max));
    const float old = sparse_weight(sums.max[half], max);
#pragma unroll
    for (int i = 0; i < batch / 4; i++) {
        const float weight = sparse_weight(weights.lse[half][i], max);
        sum += weight;
        weights.unit[half][i] *= weight;
    }
    sum += __shfl_xor_sync(~0u, sum, 1);
    sums.sum[half] = sums.sum[half] * old + sum + __shfl_xor_sync(~0u, sum, 2);
    sums.max[half] = max;
#pragma unroll
    for (int i = 0; i < 4; i++)
        sums.value[half][i] *= old;
}

/* Parts part .. part + batch - 1: all loads are under way before the first is used. A whole warp calls, whose elements
 * follow each other from a multiple of 32 on. */
template <int batch>
static __device__ __forceinline__ void sparse_meet_add(const sparse_split &split, const mla_parts &parts, int part,
                                                       int element, sparse_pair_sums &sums)
{
    const int pair = element / (2 * sparse_warp_elements) * 8 + element % 32 / 4, quad = threadIdx.x % 32 / 4 * 4;
    const int tile = element / (sparse_warp_elements / 2) % 4;
    sparse_weights<batch> weights;
    uint4 value[batch];
#pragma unroll
    for (int i = 0; i < batch / 4; i++) {
        const int mine = part + 4 * i + threadIdx.x % 4, slot = mla_slot(min(mine, parts.last), parts.first);
        const float2 lse = __ldcg(sparse_pair_lse(split, slot) + pair);
        const float2 unit = __ldcg(sparse_pair_unit(split, slot, tile) + pair);
        weights.lse[0][i] = mine > parts.last ? -INFINITY : lse.x;
        weights.lse[1][i] = mine > parts.last ? -INFINITY : lse.y;
        weights.unit[0][i] = unit.x;
        weights.unit[1][i] = unit.y;
    }
#pragma unroll
    for (int i = 0; i < batch; i++)
        value[i] = __ldcg(sparse_partial(split, mla_slot(min(part + i, parts.last), parts.first)) + element);
#pragma unroll
    for (int half = 0; half < 2; half++) {
        sparse_weights_of(weights, half, sums);
#pragma unroll
        for (int i = 0; i < batch; i++)
            sparse_weigh(sums.value[half], half ? value[i].y : value[i].x, half ? value[i].w : value[i].z,
                         __shfl_sync(~0u, weights.unit[half][i / 4], quad + i % 4));
    }
}

static __device__ __forceinline__ void sparse_meet_result(const sparse_problem &problem, int query, int row0,
                                                          int element, const sparse_pair_sums &sums)
{
    const int column =
        element / sparse_warp_elements % 2 * sparse_half + element % sparse_warp_elements / 32 * 16 + element % 4 * 2;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int head = row0 + element / (2 * sparse_warp_elements) * 16 + element % 32 / 4 + half * 8;
        const float inverse = sums.sum[half] == 0 ? 0 : 1 / sums.sum[half];
        uint32_t *out = (uint32_t *)(problem.out + ((int64_t)query * problem.h + head) * sparse_d_v + column);
        out[0] = cvt_bf16x2_f32(sums.value[half][0] * inverse, sums.value[half][1] * inverse);
        out[4] = cvt_bf16x2_f32(sums.value[half][2] * inverse, sums.value[half][3] * inverse);
        if (column == 0)
            problem.lse[sparse_lse_at(problem, query, head)] =
                sums.sum[half] == 0 ? INFINITY : (sums.max[half] + log2f(sums.sum[half])) * sparse_ln2;
    }
}

/* The part's share of a query, when all its parts have stored. */
static __device__ __forceinline__ void sparse_meet_query(const sparse_problem &problem, const sparse_split &split,
                                                         int query, int row0)
{
    const mla_parts parts = sparse_parts_of(problem, split, query);
    const int number = parts.last - parts.first + 1, mine = (int)blockIdx.y - parts.first;
    const int first = sparse_elements / 32 * mine / number * 32, last = sparse_elements / 32 * (mine + 1) / number * 32;
    unsigned *counter = sparse_counter(split, parts.first);
    if (threadIdx.x % 32 == 0) {
        while (signal_counted(counter) < (unsigned)(sparse_meet_warps * number))
            ;
        signal_count_relaxed(counter, sparse_last_count(parts));
    }
    __syncwarp();
#pragma unroll 1
    for (int element = first + threadIdx.x; element < last; element += sparse_meet_threads) {
        sparse_pair_sums sums = {{}, {-INFINITY, -INFINITY}, {0, 0}};
        if (number <= 4)
            sparse_meet_add<4>(split, parts, parts.first, element, sums);
        else
#pragma unroll 1
            for (int part = parts.first; part <= parts.last; part += sparse_meet_batch)
                sparse_meet_add<sparse_meet_batch>(split, parts, part, element, sums);
        sparse_meet_result(problem, query, row0, element, sums);
    }
}

/* When the part is done: of its queries only the first and the last may be cut. By consumers. */
static __device__ __forceinline__ void sparse_meet(const sparse_arguments &arguments, int row0)
{
    const sparse_problem &problem = arguments.problem;
    const sparse_split &split = arguments.split;
    const int units = sparse_units(problem), begin = blockIdx.y * split.share;
    const int first = begin / units, last = min((begin + split.share - 1) / units, problem.queries - 1);
#pragma unroll 1
    for (int query = first; query <= last; query = max(query + 1, last)) {
        const sparse_piece piece = sparse_piece_of(problem, split, blockIdx.y, query);
        if (piece.last > piece.first && !piece.whole)
            sparse_meet_query(problem, split, query, row0);
    }
}

#endif

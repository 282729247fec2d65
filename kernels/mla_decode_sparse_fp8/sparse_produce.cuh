/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Producers: half a block, 32 tokens, at a time. Warp w of the warpgroup has tokens 8 w to 8 w + 7 of them, four lanes
 * a token; of each tile of 64 columns a lane has 16, so that eight lanes store to all banks and load 64 bytes of two
 * tokens. Each lane's bytes of the next half are on their way while it converts those of this one.
 */
#ifndef RIDGE_SPARSE_PRODUCE_CUH
#define RIDGE_SPARSE_PRODUCE_CUH

#include "kernels/mla_decode_sparse_fp8/sparse_tile.cuh"
#include "kernels/ptx/bulk.cuh"
#include "kernels/ptx/gather.cuh"

constexpr int sparse_half_tokens = sparse_block_tokens / 2;

/* A part's blocks: they lie one after the other in the list of all queries' blocks. */
struct sparse_span {
    int first, last;
};

static __device__ __forceinline__ int sparse_first_block(const sparse_problem &problem, int unit)
{
    const int query = unit / sparse_units(problem), blocks = sparse_blocks(problem);
    const int block = query * blocks + max(unit - query * sparse_units(problem) - problem.overhead, 0);
    return min(block, problem.queries * blocks);
}

static __device__ __forceinline__ sparse_span sparse_span_of(const sparse_problem &problem, const sparse_split &split)
{
    const int begin = (int)blockIdx.y * split.share;
    return {sparse_first_block(problem, begin), sparse_first_block(problem, begin + split.share)};
}

/* Index of a block's token; behind the part's last block none, or token 0 where all are known to be tokens'. */
template <bool checked>
static __device__ __forceinline__ int32_t sparse_index(const sparse_problem &problem, const sparse_span &span,
                                                       int block, int token)
{
    return ld_global_s32_if(block < span.last, problem.indices + (int64_t)block * sparse_block_tokens + token,
                            checked ? -1 : 0);
}

/* A lane's bytes of a token. */
struct sparse_raw {
    uint4 code[8], rope[2];
    uint4 scale; /* four FP32 */
};

static __device__ __forceinline__ int sparse_lane_token()
{
    return threadIdx.x / 32 % 4 * 8 + threadIdx.x % 32 / 4;
}

static __device__ __forceinline__ float sparse_scale_of(const uint4 &scales, int tile)
{
    return __uint_as_float(tile < 2 ? scales.x : tile < 4 ? scales.y : tile < 6 ? scales.z : scales.w);
}

/* Four codes times the scale, rounded once. */
static __device__ __forceinline__ uint2 sparse_bf16(uint32_t codes, float scale)
{
    const uint2 halves = cvt_f16x4_e4m3x4(codes);
    return make_uint2(
        cvt_bf16x2_f32(cvt_f32_f16((uint16_t)halves.x) * scale, cvt_f32_f16((uint16_t)(halves.x >> 16)) * scale),
        cvt_bf16x2_f32(cvt_f32_f16((uint16_t)halves.y) * scale, cvt_f32_f16((uint16_t)(halves.y >> 16)) * scale));
}

/* What keys become: values in BF16. */
struct sparse_values {
    typedef sparse_shared memory;
    static constexpr int group_bytes = 8 * sparse_d_k * 2; /* of eight tokens */

    static __device__ __forceinline__ uint2 keys(uint32_t codes, float scale)
    {
        return sparse_bf16(codes, scale);
    }
    /* Of a token that is known to be one. */
    static __device__ __forceinline__ bool there(const sparse_problem &)
    {
        return true;
    }
    static __device__ __forceinline__ void store_scales(const memory &, int, int, const uint4 &) {}
    static __device__ __forceinline__ void send_scales(const memory &, int, int, int) {}
};

/* Stores a half of which the lane's token has row `row` of the first tile. With one CTA it loads the next half too,
 * `next` the lane's token there: each register is loaded when what it holds is stored, not before: it would be loaded
 * into another and moved at the end of the loop, when it has arrived. */
template <typename form, int ctas, bool checked>
static __device__ __forceinline__ void sparse_convert(const sparse_problem &problem, sparse_raw &raw, uint32_t row,
                                                      const uint8_t *next)
{
    const int lane = threadIdx.x % 4;
    const bool there = checked ? next != NULL : form::there(problem);
    const auto store = [&](int tile, int chunk, uint4 v) {
        st_shared_v4(row + tile * mla_tile_bytes + (chunk ^ sparse_lane_token() % 8) * 16, v);
    };
#pragma unroll
    for (int tile = 0; tile < 8; tile++) {
        const uint4 codes = raw.code[tile];
        const float scale = sparse_scale_of(raw.scale, tile);
        const uint2 a = form::keys(codes.x, scale), b = form::keys(codes.y, scale);
        const uint2 c = form::keys(codes.z, scale), d = form::keys(codes.w, scale);
        store(tile, 2 * lane, make_uint4(a.x, a.y, b.x, b.y));
        store(tile, 2 * lane + 1, make_uint4(c.x, c.y, d.x, d.y));
        if (ctas == 1)
            raw.code[tile] = ld_global_v4_if(there, next + tile * 64 + lane * 16);
    }
    if (ctas == 1)
        raw.scale = ld_global_v4_if(there, next + 512);
#pragma unroll
    for (int i = 0; i < 2; i++) {
        store(8, 2 * lane + i, raw.rope[i]);
        if (ctas == 1)
            raw.rope[i] = ld_global_v4_if(there, next + 528 + lane * 32 + i * 16);
    }
}

/* Eight tokens from `token` on to the same place in the other CTA. One thread calls. */
static __device__ __forceinline__ void sparse_send(const sparse_shared &shared, int block, int token, int rank)
{
    const uint32_t from = shared.keys(block) + token * 128, to = cluster_map(from, rank ^ 1);
    const uint32_t full = cluster_map(shared.full(block), rank ^ 1);
#pragma unroll
    for (int tile = 0; tile < mla_tiles; tile++)
        bulk_send(to + tile * mla_tile_bytes, from + tile * mla_tile_bytes, 8 * 128, full);
}

template <typename form, bool checked>
static __device__ __forceinline__ void sparse_load(const sparse_problem &problem, sparse_raw &raw, const uint8_t *token)
{
    const int lane = threadIdx.x % 4;
    const bool there = checked ? token != NULL : form::there(problem);
    raw.scale = ld_global_v4_if(there, token + 512);
#pragma unroll
    for (int tile = 0; tile < 8; tile++)
        raw.code[tile] = ld_global_v4_if(there, token + tile * 64 + lane * 16);
#pragma unroll
    for (int i = 0; i < 2; i++)
        raw.rope[i] = ld_global_v4_if(there, token + 528 + lane * 32 + i * 16);
}

/* Bits of a block's 64 tokens, a bit for each that is there; index: of tokens lane and lane + 32. */
static __device__ __forceinline__ uint2 sparse_valid_bits(const sparse_problem &problem, uint2 index)
{
    return make_uint2(__ballot_sync(~0u, index.x < problem.capacity), __ballot_sync(~0u, index.y < problem.capacity));
}

/* Index of the lane's token: half `half` of the halves that this CTA has of the blocks from `from` on. */
template <int ctas, bool checked>
static __device__ __forceinline__ int32_t sparse_index_of_half(const sparse_problem &problem, const sparse_span &span,
                                                               int from, int half, int rank)
{
    constexpr int halves = 2 / ctas;
    return sparse_index<checked>(problem, span, from + half / halves,
                                 (rank + half % halves) * sparse_half_tokens + sparse_lane_token());
}

/* Indices of a block's tokens lane and lane + 32. */
template <bool checked>
static __device__ __forceinline__ uint2 sparse_indices_of(const sparse_problem &problem, const sparse_span &span,
                                                          int block)
{
    const int lane = threadIdx.x % 32;
    return make_uint2(sparse_index<checked>(problem, span, block, lane),
                      sparse_index<checked>(problem, span, block, lane + 32));
}

/* Indices that producers have under way: of the half that comes next, of the one behind, of the next block. */
struct sparse_ahead {
    int32_t next, behind;
    uint2 valid;
};

/* The first ones of a part. */
template <int ctas, bool checked>
static __device__ __forceinline__ sparse_ahead sparse_ask(const sparse_problem &problem, const sparse_span &span)
{
    const int rank = ctas == 2 ? (int)cluster_rank() : 0;
    return {sparse_index_of_half<ctas, checked>(problem, span, span.first, 0, rank),
            sparse_index_of_half<ctas, checked>(problem, span, span.first, 1, rank),
            sparse_indices_of<checked>(problem, span, span.first)};
}

/* In a cluster this CTA's half of every block, else both. Tokens are loaded one half ahead, their indices two: behind
 * the fence, which would wait for them, or long before it. */
template <typename form, int ctas, bool checked>
static __device__ __forceinline__ void sparse_produce_from(const sparse_problem &problem, const sparse_span &span,
                                                           const typename form::memory &shared, sparse_ahead ahead)
{
    constexpr int halves = 2 / ctas;
    const int rank = ctas == 2 ? (int)cluster_rank() : 0, warp = __shfl_sync(~0u, threadIdx.x / 32 % 4, 0);
    sparse_raw raw;
    uint32_t count = 0;
    sparse_load<form, checked>(problem, raw, sparse_token<checked>(problem, ahead.next));
#pragma unroll 1
    for (int from = span.first; from < span.last; from++, count++) {
        const int block = count & 1;
        const uint2 bits = checked ? sparse_valid_bits(problem, ahead.valid) : uint2{};
        const uint8_t *next = sparse_token<checked>(problem, ahead.behind);
        ahead.behind = sparse_index_of_half<ctas, checked>(problem, span, from, 2, rank);
        mbarrier_wait(shared.empty(block), (count / 2 & 1) ^ 1);
        if (checked && threadIdx.x % 128 == 0)
            st_shared_v2_f32(shared.valid(block), __uint_as_float(bits.x), __uint_as_float(bits.y));
        if (ctas == 2 && threadIdx.x % 128 == 0)
            mbarrier_arrive_expect(shared.full(block), 4 * form::group_bytes);
#pragma unroll
        for (int i = 0; i < halves; i++) {
            const int first = (rank + i) * sparse_half_tokens, mine = first + sparse_lane_token();
            if (i > 0) {
                next = sparse_token<checked>(problem, ahead.behind);
                ahead.behind = sparse_index_of_half<ctas, checked>(problem, span, from, i + 2, rank);
            }
            form::store_scales(shared, block, mine, raw.scale);
            sparse_convert<form, ctas, checked>(problem, raw, shared.keys(block) + mine * 128, next);
            if (ctas == 2) {
                fence_proxy_async();
                __syncwarp();
                sparse_load<form, checked>(problem, raw, next); /* before what is sent: that would be in their way */
            }
            __syncwarp(); /* with one CTA consumers fence: a fence here would wait for the loads */
            if (elect()) {
                mbarrier_arrive(shared.full(block));
                if (ctas == 2) {
                    sparse_send(shared, block, first + warp * 8, rank);
                    form::send_scales(shared, block, first + warp * 8, rank);
                }
            }
            __syncwarp();
        }
        ahead.valid = sparse_indices_of<checked>(problem, span, from + 1);
    }
}

template <typename form, int ctas, bool checked>
static __device__ __forceinline__ void sparse_produce(const sparse_arguments &arguments,
                                                      const typename form::memory &shared)
{
    const sparse_problem &problem = arguments.problem;
    const sparse_span span = sparse_span_of(problem, arguments.split);
    sparse_produce_from<form, ctas, checked>(problem, span, shared, sparse_ask<ctas, checked>(problem, span));
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cluster of 2 cut by columns instead of by heads. Each CTA has all 128 heads, 64 a warpgroup, and half of a token:
 * columns 256 c to 256 c + 255 of the latent and 32 of the RoPE part. So it gathers and dequantises half of every token
 * and gives no keys to the other; what the two exchange are partial scores, 64 x 64 FP32 a warpgroup and block, which
 * both then have, and with them both make the same probabilities for their own 256 columns of the output.
 *
 * A warpgroup needs nothing of the CTA's other one, so they take turns: one's exchange and exponentials run under the
 * other's products. A turn is the scores of a block and the values of the block before.
 *
 * Keys are FP16: one conversion and one product with the scale for two codes. A block of keys is four tiles of 64
 * columns and one of the RoPE part (BF16), of which 64 bytes a row are used. Three blocks fit.
 */
#ifndef RIDGE_SPARSE_COLUMNS_CUH
#define RIDGE_SPARSE_COLUMNS_CUH

#include "kernels/mla_decode_sparse_fp8/sparse_produce.cuh"
#include "kernels/ptx/half.cuh"
#include "kernels/ptx/wgmma_f16.cuh"

constexpr int columns_stages = 3, columns_tiles = 4, columns_block_bytes = 5 * mla_tile_bytes;
constexpr int columns_consumer_registers = 208, columns_producer_registers = 88;
constexpr int columns_exchange_bytes = 64 * 64 * 4;

/* Shared memory: q (four tiles a warpgroup; a tile of RoPE columns, 64 bytes a row for each), blocks of keys, scores of
 * the other CTA, valid tokens, barriers. */
constexpr int columns_keys_at = 9 * mla_tile_bytes;
constexpr int columns_exchange_at = columns_keys_at + columns_stages * columns_block_bytes;
constexpr int columns_valid_at = columns_exchange_at + 2 * columns_exchange_bytes;
constexpr int columns_barriers_at = columns_valid_at + columns_stages * 8;
constexpr int columns_shared_bytes = columns_barriers_at + 8 * (2 * columns_stages + 4);
static_assert(columns_shared_bytes <= 232448, "more than the shared memory of a block");

struct columns_shared {
    uint32_t base;

    __device__ uint32_t q(int warpgroup) const
    {
        return base + warpgroup * columns_tiles * mla_tile_bytes;
    }
    __device__ uint32_t q_rope() const
    {
        return base + 8 * mla_tile_bytes;
    }
    __device__ uint32_t keys(int stage) const
    {
        return base + columns_keys_at + stage * columns_block_bytes;
    }
    __device__ uint32_t exchange(int warpgroup) const
    {
        return base + columns_exchange_at + warpgroup * columns_exchange_bytes;
    }
    __device__ uint32_t valid(int stage) const
    {
        return base + columns_valid_at + stage * 8;
    }
    __device__ uint32_t full(int stage) const
    {
        return base + columns_barriers_at + stage * 8;
    }
    __device__ uint32_t empty(int stage) const
    {
        return base + columns_barriers_at + (columns_stages + stage) * 8;
    }
    /* The other CTA's scores are there; the other has read this one's. */
    __device__ uint32_t scores_full(int warpgroup) const
    {
        return base + columns_barriers_at + (2 * columns_stages + warpgroup) * 8;
    }
    __device__ uint32_t scores_empty(int warpgroup) const
    {
        return base + columns_barriers_at + (2 * columns_stages + 2 + warpgroup) * 8;
    }
};

static __device__ __forceinline__ void columns_init_barriers(const columns_shared &shared)
{
    for (int stage = 0; stage < columns_stages; stage++) {
        mbarrier_init(shared.full(stage), 4);
        mbarrier_init(shared.empty(stage), 8);
    }
    for (int warpgroup = 0; warpgroup < 2; warpgroup++) {
        mbarrier_init(shared.scores_full(warpgroup), 1);
        mbarrier_init(shared.scores_empty(warpgroup), 4);
    }
    mbarrier_init_fence();
}

/* A place in the ring of stages. */
struct columns_place {
    int stage;
    uint32_t parity;

    __device__ __forceinline__ void advance()
    {
        stage = stage + 1 == columns_stages ? 0 : stage + 1;
        parity ^= stage == 0;
    }
};

static __device__ __forceinline__ uint32_t columns_f16(uint32_t bf16)
{
    return cvt_f16x2_f32(__uint_as_float(bf16 << 16), __uint_as_float(bf16 & 0xffff0000));
}

/* The warpgroup's 64 heads of a query, this CTA's columns, the latent ones to FP16. Magnitudes above 65504 become
 * infinite. */
static __device__ __forceinline__ void columns_load_q(const sparse_problem &problem, const columns_shared &shared,
                                                      int query, int warpgroup, int rank)
{
    const int thread = threadIdx.x % 128, rope = thread % 4;
    const __nv_bfloat16 *q = problem.q + ((int64_t)query * problem.h + warpgroup * 64) * sparse_d_k;
    named_sync(3 + warpgroup, 128); /* the output of the query before has left this memory */
#pragma unroll 8
    for (int i = 0; i < 16; i++) {
        const int row = i * 4 + thread / 32, chunk = thread % 32;
        const uint4 v = ld_global_v4(q + row * sparse_d_k + rank * 256 + chunk * 8);
        st_shared_v4(shared.q(warpgroup) + chunk / 8 * mla_tile_bytes + swizzle_128(row, chunk % 8 * 16),
                     make_uint4(columns_f16(v.x), columns_f16(v.y), columns_f16(v.z), columns_f16(v.w)));
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const int row = i * 32 + thread / 4;
        st_shared_v4(shared.q_rope() + swizzle_128(row, warpgroup * 64 + rope * 16),
                     ld_global_v4(q + row * sparse_d_k + sparse_d_v + rank * 32 + rope * 8));
    }
    fence_proxy_async();
    named_sync(3 + warpgroup, 128);
}

/* A lane's bytes of two tokens: 64 codes of each of two scales, 16 bytes of the RoPE part. */
struct columns_raw {
    uint4 code[2][4], rope[2];
    uint2 scale[2];
};

static __device__ __forceinline__ int columns_lane_token(int i)
{
    return threadIdx.x / 32 % 4 * 16 + i * 8 + threadIdx.x % 32 / 4;
}

/* Four codes times the scale, a pair of equal f16. */
static __device__ __forceinline__ uint2 columns_keys(uint32_t codes, uint32_t scale)
{
    const uint2 halves = cvt_f16x4_e4m3x4(codes);
    return make_uint2(mul_f16x2(halves.x, scale), mul_f16x2(halves.y, scale));
}

/* Loads of a part of the lane's token i; `token` NULL: zeros. */
static __device__ __forceinline__ uint2 columns_load_scales(const uint8_t *token, int rank)
{
    return ld_global_stream_v2_if(token != NULL, token + 512 + rank * 8);
}

static __device__ __forceinline__ uint4 columns_load_codes(const uint8_t *token, int tile, int rank)
{
    return ld_global_stream_v4_if(token != NULL, token + rank * 256 + tile * 64 + threadIdx.x % 4 * 16);
}

static __device__ __forceinline__ uint4 columns_load_rope(const uint8_t *token, int rank)
{
    return ld_global_stream_v4_if(token != NULL, token + 528 + rank * 64 + threadIdx.x % 4 * 16);
}

static __device__ __forceinline__ void columns_load(columns_raw &raw, int i, const uint8_t *token, int rank)
{
    raw.scale[i] = columns_load_scales(token, rank);
#pragma unroll
    for (int tile = 0; tile < 4; tile++)
        raw.code[i][tile] = columns_load_codes(token, tile, rank);
    raw.rope[i] = columns_load_rope(token, rank);
}

/* Stores the lane's part of token i, and loads that of the next block; in the order of sparse_convert. */
static __device__ __forceinline__ void columns_convert(columns_raw &raw, int i, uint32_t keys, const uint8_t *next,
                                                       int rank)
{
    const int lane = threadIdx.x % 4, token = columns_lane_token(i);
#pragma unroll
    for (int tile = 0; tile < 4; tile++) {
        const float factor = __uint_as_float(tile < 2 ? raw.scale[i].x : raw.scale[i].y);
        const uint32_t scale = cvt_f16x2_f32(factor, factor);
        const uint4 codes = raw.code[i][tile];
        const uint2 a = columns_keys(codes.x, scale), b = columns_keys(codes.y, scale);
        const uint2 c = columns_keys(codes.z, scale), d = columns_keys(codes.w, scale);
        const uint32_t row = keys + tile * mla_tile_bytes;
        st_shared_v4(row + swizzle_128(token, lane * 32), make_uint4(a.x, a.y, b.x, b.y));
        st_shared_v4(row + swizzle_128(token, lane * 32 + 16), make_uint4(c.x, c.y, d.x, d.y));
        raw.code[i][tile] = columns_load_codes(next, tile, rank);
    }
    raw.scale[i] = columns_load_scales(next, rank);
    st_shared_v4(keys + 4 * mla_tile_bytes + swizzle_128(token, lane * 16), raw.rope[i]);
    raw.rope[i] = columns_load_rope(next, rank);
}

static __device__ __forceinline__ void columns_produce(const sparse_arguments &arguments, const columns_shared &shared,
                                                       int rank)
{
    const sparse_problem &problem = arguments.problem;
    const int lane = threadIdx.x % 32;
    columns_place place = {0, 0};
    columns_raw raw;
    int32_t index[2], valid[2];
    sparse_cursor at = sparse_begin(problem, arguments.split);
    const auto next_indices = [&] {
        for (int i = 0; i < 2; i++)
            index[i] = sparse_index(problem, at, columns_lane_token(i));
        sparse_advance(problem, arguments.split, at);
    };
    sparse_cursor valid_at = at;
    next_indices();
    for (int i = 0; i < 2; i++)
        columns_load(raw, i, sparse_token(problem, index[i]), rank);
    next_indices();
    for (int i = 0; i < 2; i++)
        valid[i] = sparse_index(problem, valid_at, i * 32 + lane);
#pragma unroll 1
    while (sparse_more(problem, valid_at)) {
        mbarrier_wait(shared.empty(place.stage), place.parity ^ 1);
        sparse_store_valid(shared.valid(place.stage), problem, valid);
        sparse_advance(problem, arguments.split, valid_at);
        for (int i = 0; i < 2; i++)
            valid[i] = sparse_index(problem, valid_at, i * 32 + lane);
        const uint8_t *next[2] = {sparse_token(problem, index[0]), sparse_token(problem, index[1])};
        next_indices();
#pragma unroll
        for (int i = 0; i < 2; i++)
            columns_convert(raw, i, shared.keys(place.stage), next[i], rank);
        fence_proxy_async();
        __syncwarp();
        if (lane == 0)
            mbarrier_arrive(shared.full(place.stage));
        place.advance();
    }
}

#endif

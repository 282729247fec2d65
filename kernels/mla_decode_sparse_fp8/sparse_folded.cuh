/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scales folded out of the conversion. Keys are FP16 codes, which e4m3 becomes exactly by one conversion; a token's
 * four scales lie beside them in FP32. Scores are four partial sums of 128 columns, each times its scale in FP32.
 * Values of 128 columns are multiplied by a copy of the probabilities times the scale, in FP16, for which the scale is
 * in units of the largest one so far, rounded down to a power of two; sums of these columns are in the same unit, and
 * are rescaled in FP32 when it grows. The README says where results differ from those of dequantised keys.
 */
#ifndef RIDGE_SPARSE_FOLDED_CUH
#define RIDGE_SPARSE_FOLDED_CUH

#include "kernels/mla_decode_sparse_fp8/sparse_consume.cuh"
#include "kernels/mla_decode_sparse_fp8/sparse_produce.cuh"
#include "kernels/ptx/half.cuh"
#include "kernels/ptx/wgmma_f16.cuh"

/* Behind what sparse_shared has: scales of two blocks. */
constexpr int folded_shared_bytes = sparse_shared_bytes + 2 * 4 * sparse_block_tokens * 4;
static_assert(folded_shared_bytes <= 232448, "more than the shared memory of a block");

struct folded_shared : sparse_shared {
    /* Of eight tokens and a tile of 128 columns. */
    __device__ uint32_t scales(int block, int group, int tile) const
    {
        return base + sparse_shared_bytes + ((block * 8 + group) * 4 + tile) * 32;
    }
};

/* What keys become: codes in FP16, and each of a token's lanes stores one of its scales. */
struct folded_codes {
    typedef folded_shared memory;
    static constexpr int group_bytes = 8 * sparse_d_k * 2 + 4 * 32;

    static __device__ __forceinline__ uint2 keys(uint32_t codes, float)
    {
        return cvt_f16x4_e4m3x4(codes);
    }
    /* As far as ptxas knows it may be none: without predicates it moves loads, and spills. */
    static __device__ __forceinline__ bool there(const sparse_problem &problem)
    {
        return problem.capacity > 0;
    }
    static __device__ __forceinline__ void store_scales(const memory &shared, int block, int token, const uint4 &scales)
    {
        const int lane = threadIdx.x % 4;
        const uint32_t mine = lane < 2 ? lane == 0 ? scales.x : scales.y : lane == 2 ? scales.z : scales.w;
        st_shared_u32(shared.scales(block, token / 8, lane) + token % 8 * 4, mine);
    }
    static __device__ __forceinline__ void send_scales(const memory &shared, int block, int token, int rank)
    {
        const uint32_t scales = shared.scales(block, token / 8, 0);
        bulk_send(cluster_map(scales, rank ^ 1), scales, 4 * 32, cluster_map(shared.full(block), rank ^ 1));
    }
};

/* A warpgroup's sums, 64 columns each, and the units of its two tiles of 128. */
struct folded_sums {
    float out[4][32], unit[2];
};

static __device__ __forceinline__ void folded_begin(folded_sums &sums)
{
#pragma unroll
    for (int i = 0; i < 128; i++)
        sums.out[i / 32][i % 32] = 0;
    sums.unit[0] = sums.unit[1] = 0x1p-126f;
}

static __device__ __forceinline__ void folded_settle(folded_sums &sums)
{
#pragma unroll
    for (int i = 0; i < 4; i++)
        wgmma_settle(sums.out[i]);
}

/* The thread's columns: score 4 j + e and 4 j + 2 + e have scale[2 j + e]. */
static __device__ __forceinline__ void folded_load_scales(float (&scale)[16], const folded_shared &shared, int block,
                                                          int tile)
{
    const uint32_t at = shared.scales(block, 0, tile) + threadIdx.x % 4 * 8;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const float2 v = ld_shared_v2_f32(at + i * 128);
        scale[2 * i] = v.x;
        scale[2 * i + 1] = v.y;
    }
}

static __device__ __forceinline__ uint32_t folded_f16(uint32_t bf16)
{
    return cvt_f16x2_f32(__uint_as_float(bf16 << 16), __uint_as_float(bf16 & 0xffff0000));
}

/* The latent part of q, in place. By one warpgroup. */
static __device__ __forceinline__ void folded_convert_q(uint32_t q)
{
#pragma unroll 4
    for (int at = threadIdx.x % 128 * 16; at < 8 * mla_tile_bytes; at += 128 * 16) {
        const uint4 v = ld_shared_volatile_v4(q + at);
        st_shared_v4(q + at, make_uint4(folded_f16(v.x), folded_f16(v.y), folded_f16(v.z), folded_f16(v.w)));
    }
    fence_proxy_async();
    named_sync(6, 128);
}

/* Scores of 128 columns, without their scale. */
static __device__ __forceinline__ void folded_multiply(float (&part)[32], uint32_t q, uint32_t keys)
{
    const uint64_t a = wgmma_descriptor_128(q), b = wgmma_descriptor_128(keys);
#pragma unroll
    for (int slice = 0; slice < 8; slice++) {
        const int at = slice / 4 * mla_tile_bytes + slice % 4 * 32;
        wgmma_f16_ss(part, wgmma_descriptor_advance(a, at), wgmma_descriptor_advance(b, at), slice > 0);
    }
}

/* Of a power of two, 2^-126 to 2^126. */
static __device__ __forceinline__ float folded_inverse(float unit)
{
    return __uint_as_float(0x7f000000 - __float_as_uint(unit));
}

/* The unit with a block's scales, and what sums in the old one are worth. NaN scales count for nothing here. */
static __device__ __forceinline__ float folded_raise(float &unit, const float (&scale)[16])
{
    const float old = unit;
    float high = 0;
#pragma unroll
    for (int i = 0; i < 16; i++)
        high = fmaxf(high, fabsf(scale[i]));
    high = fmaxf(high, __shfl_xor_sync(~0u, high, 1));
    high = fminf(fmaxf(high, __shfl_xor_sync(~0u, high, 2)), 0x1p126f);
    unit = fmaxf(unit, __uint_as_float(__float_as_uint(high) & 0x7f800000));
    return old == unit ? 1 : old * folded_inverse(unit);
}

/* Before the values of 128 columns are added: their copy of the probabilities, and their rows times `factor`. */
static __device__ __forceinline__ void folded_scale_copy(folded_sums &sums, int tile, const float (&factor)[2],
                                                         const uint32_t (&probability)[4][4], uint32_t (&p)[4][4],
                                                         const folded_shared &shared, int block, int first)
{
    float scale[16];
    folded_load_scales(scale, shared, block, first + tile);
    const float worth = folded_raise(sums.unit[tile], scale), inverse = folded_inverse(sums.unit[tile]);
    const float rows[2] = {factor[0] * worth, factor[1] * worth};
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const uint32_t pair = cvt_f16x2_f32(scale[2 * i] * inverse, scale[2 * i + 1] * inverse);
        p[i / 2][i % 2 * 2] = mul_f16x2(probability[i / 2][i % 2 * 2], pair);
        p[i / 2][i % 2 * 2 + 1] = mul_f16x2(probability[i / 2][i % 2 * 2 + 1], pair);
    }
    if (!__any_sync(~0u, rows[0] != 1 || rows[1] != 1))
        return;
#pragma unroll
    for (int i = 0; i < 64; i++)
        sums.out[2 * tile + i / 32][i % 32] *= rows[i / 2 % 2];
}

/* Values of 128 columns, `keys` the first. */
static __device__ __forceinline__ void folded_add_values(folded_sums &sums, int tile, const uint32_t (&p)[4][4],
                                                         uint32_t keys)
{
#pragma unroll
    for (int half = 2 * tile; half < 2 * tile + 2; half++) {
        const uint64_t values = wgmma_descriptor_128(keys + half * mla_tile_bytes, 1024, mla_tile_bytes);
#pragma unroll
        for (int slice = 0; slice < 4; slice++)
            wgmma_f16_rs<1>(sums.out[half], p[slice], wgmma_descriptor_advance(values, slice * 2048), 1);
    }
}

/* Copies of the probabilities for both of the warpgroup's tiles, `first` and the next; then their values. */
static __device__ __forceinline__ void folded_values(folded_sums &sums, const float (&factor)[2],
                                                     const uint32_t (&probability)[4][4], uint32_t (&p)[2][4][4],
                                                     const folded_shared &shared, int block, int first)
{
#pragma unroll
    for (int tile = 0; tile < 2; tile++)
        folded_scale_copy(sums, tile, factor, probability, p[tile], shared, block, first);
    wgmma_fence();
#pragma unroll
    for (int tile = 0; tile < 2; tile++)
        folded_add_values(sums, tile, p[tile], shared.keys(block) + 2 * first * mla_tile_bytes);
    wgmma_commit();
}

static __device__ __forceinline__ void folded_scores(float (&score)[32], const folded_shared &shared, int block)
{
    const uint32_t keys = shared.keys(block);
#pragma unroll
    for (int tile = 0; tile < 4; tile++) {
        float part[32], scale[16];
        wgmma_fence();
        if (tile == 1)
            mla_multiply_keys(score, shared.q() + 8 * mla_tile_bytes, keys + 8 * mla_tile_bytes, 1);
        folded_multiply(part, shared.q() + 2 * tile * mla_tile_bytes, keys + 2 * tile * mla_tile_bytes);
        wgmma_commit();
        wgmma_wait<0>();
        wgmma_settle(part);
        if (tile == 1)
            wgmma_settle(score);
        folded_load_scales(scale, shared, block, tile);
#pragma unroll
        for (int i = 0; i < 32; i++)
            score[i] =
                tile == 0 ? part[i] * scale[i / 4 * 2 + i % 2] : fmaf(part[i], scale[i / 4 * 2 + i % 2], score[i]);
    }
}

/* Sums in units of 1. */
static __device__ __forceinline__ void folded_undo(folded_sums &sums, float (&out)[128])
{
#pragma unroll
    for (int i = 0; i < 128; i++)
        out[i] = sums.out[i / 32][i % 32] * sums.unit[i / 64];
}

/* Score i and i + 1 of a thread are a word of p: the same as mla_round, in FP16. */
static __device__ __forceinline__ void folded_round(uint32_t (&p)[4][4], const float (&value)[32])
{
#pragma unroll
    for (int i = 0; i < 16; i++)
        p[i / 4][i % 4] = cvt_f16x2_f32(value[2 * i], value[2 * i + 1]);
}

/* The probabilities that warpgroup 0 has stored. */
static __device__ __forceinline__ void folded_load_probabilities(uint32_t (&p)[4][4], uint32_t tile)
{
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 % 4 * 16 + lane % 16;
#pragma unroll
    for (int slice = 0; slice < 4; slice++)
        ldmatrix_x4(p[slice], tile + swizzle_128(row, slice * 32 + lane / 16 * 16));
}

#endif

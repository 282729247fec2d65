/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens of the three formats with 512 values, as sparse_apart_convert.cuh takes them. All scales are BF16 as they are,
 * and so are all products with codes: codes become BF16 first and are scaled by one instruction for two.
 */
#ifndef RIDGE_SPARSE_512_TOKENS_CUH
#define RIDGE_SPARSE_512_TOKENS_CUH

#include "kernels/mla_decode_sparse_fp8/sparse_apart.cuh"

/* A scale in both halves: byte `at` of a word. UE8M0 is the exponent of BF16, but 0x00 and 0xff are 2^-127 and NaN. */
template <enum kv_format format> static __device__ __forceinline__ uint32_t apart_scale(uint32_t word, int at)
{
    if (format == KV_V41_FP4) {
        const float scale = cvt_f32_f16((uint16_t)cvt_f16x4_e4m3x4(word >> at * 8).x);
        return cvt_bf16x2_f32(scale, scale);
    }
    const uint32_t twice = __byte_perm(word, 0, at * 0x101 | 0x4040);
    return twice << 7 | (twice + 1 & 0xfe ? 0 : 0x400040);
}

static __device__ __forceinline__ uint32_t apart_two_e4m3(uint32_t halves, uint32_t scale)
{
    return mul_bf16x2(cvt_bf16x2_f32(cvt_f32_f16((uint16_t)halves), cvt_f32_f16((uint16_t)(halves >> 16))), scale);
}

static __device__ __forceinline__ uint4 apart_eight_e4m3(float2 codes, uint32_t scale)
{
    const uint2 low = cvt_f16x4_e4m3x4(__float_as_uint(codes.x)), high = cvt_f16x4_e4m3x4(__float_as_uint(codes.y));
    return make_uint4(apart_two_e4m3(low.x, scale), apart_two_e4m3(low.y, scale), apart_two_e4m3(high.x, scale),
                      apart_two_e4m3(high.y, scale));
}

/* Low and high bytes of the magnitudes 0, 0.5, 1, 1.5, 2, 3, 4, 6 as BF16, looked up four codes at a time; signs are
 * the highest bits of the bytes of the codes and of the codes shifted by one. */
static __device__ __forceinline__ uint4 apart_eight_e2m1(uint32_t codes, uint32_t scale)
{
    uint32_t v[4];
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const uint32_t four = codes >> i * 16 & 0x7777;
        const uint32_t signs = __byte_perm(codes, codes << 4, i ? 0x3726 : 0x1504) & 0x80808080;
        const uint32_t low = __byte_perm(0xc0800000, 0xc0804000, four),
                       high = __byte_perm(0x3f3f3f00, 0x40404040, four) | signs;
        v[2 * i] = mul_bf16x2(__byte_perm(low, high, 0x5140), scale);
        v[2 * i + 1] = mul_bf16x2(__byte_perm(low, high, 0x7362), scale);
    }
    return make_uint4(v[0], v[1], v[2], v[3]);
}

/* Of the 64 chunks of eight values of a token a lane has chunk lane and chunk lane + 32, so that eight lanes store all
 * of a row of a tile, which is all banks. */
template <enum kv_format format> struct apart_512 {
    using element = apart_bf16;
    static constexpr bool scales_elsewhere = format == KV_MODEL1, e2m1 = format == KV_V41_FP4;
    static constexpr int row_bytes = kv_token_bytes(format) - (scales_elsewhere ? 8 : 0);
    static constexpr int head_bytes = e2m1 ? 256 : 512, tail_bytes = row_bytes - head_bytes;
    static constexpr int slot_bytes = apart_slot_tokens * kv_token_bytes(format), tile = kv_tile(format);

    static __device__ __forceinline__ const uint8_t *scales(const sparse_problem &problem, const apart_place &place)
    {
        return problem.cache + ((uint64_t)place.row - place.in_page + problem.page_size) * row_bytes +
               place.in_page * 8;
    }

    /* Chunk `i` / 2 of a token: lane + 32 (i % 2). */
    static __device__ __forceinline__ float2 load_codes(uint32_t staged, int lane, int i)
    {
        if (e2m1)
            return make_float2(ld_shared_f32(staged + i / 2 * head_bytes + i % 2 * 128 + lane * 4), 0);
        return ld_shared_v2_f32(staged + i / 2 * head_bytes + i % 2 * 256 + lane * 8);
    }

    /* The word that has the chunk's scale. */
    static __device__ __forceinline__ uint32_t load_scales(uint32_t staged, int lane, int i)
    {
        constexpr int words = 256 / tile / 4; /* of half of a token */
        const uint32_t scales = staged + apart_slot_tokens * (scales_elsewhere ? row_bytes : head_bytes) +
                                i / 2 * (scales_elsewhere ? 8 : tail_bytes);
        return __float_as_uint(ld_shared_f32(scales + (i % 2 * words + lane * words / 32) * 4));
    }

    /* MODEL1's 64 values behind the codes, of which half are in the head. */
    static __device__ __forceinline__ void copy_rope(uint32_t staged, uint32_t keys, int row, int lane)
    {
        const int token = lane / 8, piece = lane % 8;
        const uint32_t from = piece < 4 ? token * head_bytes + kv_quantised(format) + piece * 16
                                        : apart_slot_tokens * head_bytes + token * tail_bytes + (piece - 4) * 16;
        st_shared_v4(keys + 7 * mla_tile_bytes + swizzle_128(row + token, piece * 16), ld_shared_v4(staged + from));
    }

    static __device__ __forceinline__ uint4 values_of(float2 codes, uint32_t scales, int lane)
    {
        const uint32_t scale = apart_scale<format>(scales, lane * 8 / tile % 4);
        return e2m1 ? apart_eight_e2m1(__float_as_uint(codes.x), scale) : apart_eight_e4m3(codes, scale);
    }

    /* Loads are under way before the first is used, since one behind stores waits for them. */
    static __device__ __forceinline__ void convert(uint32_t staged, uint32_t keys, int row)
    {
        const int lane = thread_again() % 32; /* addresses made again, or they would be kept in registers */
        const uint32_t to = keys + lane / 8 * mla_tile_bytes + swizzle_128(row, lane % 8 * 16);
        float2 codes[2 * apart_slot_tokens];
        uint32_t scales[2 * apart_slot_tokens];
#pragma unroll
        for (int i = 0; i < 2 * apart_slot_tokens; i++) {
            codes[i] = load_codes(staged, lane, i);
            scales[i] = load_scales(staged, lane, i);
        }
        if (kv_rope(format))
            copy_rope(staged, keys, row, lane);
#pragma unroll
        for (int i = 0; i < 2 * apart_slot_tokens; i++) {
            const uint4 values = values_of(codes[i], scales[i], lane);
            if (i % 2 == 0 || lane < kv_quantised(format) / 8 - 32)
                st_shared_v4((to ^ i / 2 * 16) + i / 2 * 128 + i % 2 * 4 * mla_tile_bytes, values);
        }
    }
};

#endif

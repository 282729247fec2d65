/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens of the three formats with 512 values, as sparse_apart_convert.cuh takes them. All scales are BF16 as they are,
 * and so are all products with codes: codes become BF16 first and are scaled by one instruction for two.
 */
#ifndef RIDGE_SPARSE_512_TOKENS_CUH
#define RIDGE_SPARSE_512_TOKENS_CUH

#include "kernels/mla_decode_sparse_fp8/sparse_apart.cuh"

/* A scale in both halves: byte `at` of a word. UE8M0 is the exponent of BF16, but 0x00 and 0xff are 2^-127 and NaN. */
template <enum kv_format format, typename element>
static __device__ __forceinline__ uint32_t apart_scale(uint32_t word, int at)
{
    float scale;
    if (format == KV_V41_FP4) {
        scale = cvt_f32_f16((uint16_t)cvt_f16x4_e4m3x4(word >> at * 8).x);
    } else {
        const uint32_t code = __byte_perm(word, 0, at * 0x101 | 0x4040);
        const uint32_t bf16 = code << 7 | (code + 1 & 0xfe ? 0 : 0x400040);
        if (element::is_bf16)
            return bf16;
        scale = __uint_as_float(bf16 << 16);
    }
    return element::pack(scale, scale);
}

template <typename element> static __device__ __forceinline__ uint4 apart_eight_e4m3(float2 codes, uint32_t scale)
{
    const uint2 low = cvt_f16x4_e4m3x4(__float_as_uint(codes.x)), high = cvt_f16x4_e4m3x4(__float_as_uint(codes.y));
    return make_uint4(
        element::multiply(element::of_f16(low.x), scale), element::multiply(element::of_f16(low.y), scale),
        element::multiply(element::of_f16(high.x), scale), element::multiply(element::of_f16(high.y), scale));
}

/* High and low bytes of the magnitudes 0, 0.5, 1, 1.5, 2, 3, 4, 6 are looked up four codes at a time, low ones of FP16
 * are 0; signs are the highest bits of the bytes of the codes and of the codes shifted by one. */
template <typename element> static __device__ __forceinline__ uint4 apart_eight_e2m1(uint32_t codes, uint32_t scale)
{
    uint32_t v[4];
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const uint32_t four = codes >> i * 16 & 0x7777;
        const uint32_t signs = __byte_perm(codes, codes << 4, i ? 0x3726 : 0x1504) & 0x80808080;
        const uint32_t high = signs | (element::is_bf16 ? __byte_perm(0x3f3f3f00, 0x40404040, four)
                                                        : __byte_perm(0x3e3c3800, 0x46444240, four));
        const uint32_t low = element::is_bf16 ? __byte_perm(0xc0800000, 0xc0804000, four) : 0;
        v[2 * i] = element::multiply(__byte_perm(low, high, 0x5140), scale);
        v[2 * i + 1] = element::multiply(__byte_perm(low, high, 0x7362), scale);
    }
    return make_uint4(v[0], v[1], v[2], v[3]);
}

template <enum kv_format format_, typename element_> struct apart_512 {
    using element = element_;
    static constexpr enum kv_format format = format_;
    static constexpr bool scales_elsewhere = format == KV_MODEL1, e2m1 = format == KV_V41_FP4;
    static constexpr int row_bytes = kv_token_bytes(format) - (scales_elsewhere ? 8 : 0);
    static constexpr int head_bytes = e2m1 ? 256 : 512, tail_bytes = row_bytes - head_bytes;
    static constexpr int slot_bytes = apart_slot_tokens * kv_token_bytes(format), tile = kv_tile(format);
    static constexpr int chunks = kv_quantised(format) / 8, rope_tile = kv_rope(format) ? 7 : 0;

    static __device__ __forceinline__ const uint8_t *scales(const sparse_problem &problem, const apart_place &place)
    {
        return problem.cache + (uint64_t)(place.row - place.in_page + problem.page_size) * row_bytes +
               place.in_page * 8;
    }

    /* The word that has the scale comes with the codes. */
    static __device__ __forceinline__ void load(float2 &codes, uint32_t &scale, uint32_t staged, int lane, int token,
                                                int half)
    {
        constexpr int words = 256 / tile / 4; /* of scales, of half of a token */
        const uint32_t from = staged + token * head_bytes + half * (e2m1 ? 128 : 256);
        const uint32_t scales = staged + apart_slot_tokens * (scales_elsewhere ? row_bytes : head_bytes) +
                                token * (scales_elsewhere ? 8 : tail_bytes);
        codes = e2m1 ? make_float2(ld_shared_f32(from + lane * 4), 0) : ld_shared_v2_f32(from + lane * 8);
        scale = __float_as_uint(ld_shared_f32(scales + (half * words + lane * words / 32) * 4));
    }
    static __device__ __forceinline__ uint4 values(float2 codes, uint32_t scales, int lane)
    {
        const uint32_t scale = apart_scale<format, element>(scales, lane * 8 / tile % 4);
        return e2m1 ? apart_eight_e2m1<element>(__float_as_uint(codes.x), scale)
                    : apart_eight_e4m3<element>(codes, scale);
    }
    /* Half of them are in the head. */
    static __device__ __forceinline__ uint4 rope(uint32_t staged, int token, int piece)
    {
        return ld_shared_v4(staged + (piece < 4
                                          ? token * head_bytes + kv_quantised(format) + piece * 16
                                          : apart_slot_tokens * head_bytes + token * tail_bytes + (piece - 4) * 16));
    }
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens of SPARSE_FORMAT, one of the three with 512 values, as the converter of sparse_apart_convert.cuh copies and
 * converts them: of the 64 chunks of eight values of a token a lane has chunk lane and chunk lane + 32, so that eight
 * lanes store all of a row of a tile, which is all banks. All scales are BF16 as they are, and so are all products with
 * codes: codes become BF16 first and are scaled by one instruction for two.
 */
#ifndef RIDGE_SPARSE_512_TOKENS_CUH
#define RIDGE_SPARSE_512_TOKENS_CUH

#include "kernels/mla_decode_sparse_fp8/sparse_apart_element.cuh"
#include "kernels/ptx/gather.cuh"

constexpr bool model1 = SPARSE_FORMAT == KV_MODEL1, e2m1 = SPARSE_FORMAT == KV_V41_FP4;

/* MODEL1's scales, elsewhere in the cache, come behind the token's other bytes. */
constexpr int apart_slot_tokens = 4, apart_pieces = model1 ? 36 : sparse_token_bytes / 16;
constexpr int apart_token_bytes = (apart_pieces + model1) * 16;

/* Where a token is; scales: MODEL1's. */
struct apart_token {
    const uint8_t *bytes, *scales;
};

static __device__ __forceinline__ apart_token apart_token_of(const sparse_problem &problem, int32_t index)
{
    const sparse_place place = sparse_place_of(problem, index);
    if (!place.block)
        return {NULL, problem.cache};
    return {place.block + kv_token_offset(SPARSE_FORMAT, place.i),
            place.block + kv_scale_offset(SPARSE_FORMAT, (int)problem.page_size, place.i)};
}

/* What of a token is elsewhere. */
static __device__ __forceinline__ void apart_ask_rest(uint32_t staged, const apart_token &token)
{
    if (model1)
        cp_async_8_if(token.bytes != NULL, staged + 576, token.scales);
}

/* A scale in both halves. UE8M0 0x00 and 0xff are 2^-127 and NaN: bit 22 of FP32 is set in both. */
static __device__ __forceinline__ uint32_t apart_scale(uint32_t code)
{
    float scale = __uint_as_float(code << 23 | ((code + 1 & 0xff) <= 1 ? 0x400000 : 0));
    if (e2m1)
        scale = cvt_f32_f16((uint16_t)cvt_f16x4_e4m3x4(code).x);
    return cvt_bf16x2_f32(scale, scale);
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

/* Low and high bytes of the magnitudes 0, 0.5, 1, 1.5, 2, 3, 4, 6 as BF16, looked up four codes at a time; signs come
 * from the bytes of the codes and of the codes shifted by one. */
static __device__ __forceinline__ uint4 apart_eight_e2m1(uint32_t codes, uint32_t scale)
{
    uint32_t v[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint32_t four = codes >> i / 2 * 16 & 0x7777;
        const uint32_t low = __byte_perm(0xc0800000, 0xc0804000, four),
                       high = __byte_perm(0x3f3f3f00, 0x40404040, four);
        const uint32_t signs = __byte_perm(codes, codes << 4, i << 12 | (4 + i) << 4) & 0x80008000;
        v[i] = mul_bf16x2(__byte_perm(low, high, i % 2 ? 0x7362 : 0x5140) | signs, scale);
    }
    return make_uint4(v[0], v[1], v[2], v[3]);
}

/* A lane's chunks of a token, and the word that has their scales. */
struct apart_chunks {
    float2 codes[2];
    uint32_t scales[2];
};

static __device__ __forceinline__ apart_chunks apart_load(uint32_t token)
{
    const int lane = threadIdx.x % 32, words = 256 / kv_tile(SPARSE_FORMAT) / 4; /* of scales, of half of a token */
    const uint32_t scales = token + (model1 ? 576 : kv_code_bytes(SPARSE_FORMAT));
    apart_chunks chunks;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        if (e2m1)
            chunks.codes[half].x = ld_shared_f32(token + 128 * half + lane * 4);
        else
            chunks.codes[half] = ld_shared_v2_f32(token + 256 * half + lane * 8);
        chunks.scales[half] = __float_as_uint(ld_shared_f32(scales + (half * words + lane * words / 32) * 4));
    }
    return chunks;
}

static __device__ __forceinline__ uint4 apart_values_of(const apart_chunks &chunks, int half)
{
    const int tile = threadIdx.x % 32 * 8 / kv_tile(SPARSE_FORMAT);
    const uint32_t code = chunks.scales[half] >> tile % 4 * 8 & 0xff;
    if (e2m1)
        return apart_eight_e2m1(__float_as_uint(chunks.codes[half].x), apart_scale(code));
    return apart_eight_e4m3(chunks.codes[half], apart_scale(code));
}

/* A slot's four tokens to rows `row` to row + 3 of the keys; row is a multiple of four. All loads of two tokens are
 * under way before the first is used. */
template <typename element>
static __device__ __forceinline__ void apart_convert(uint32_t staged, uint32_t keys, int row)
{
    const int lane = threadIdx.x % 32;
    const uint32_t to = keys + lane / 8 * mla_tile_bytes + swizzle_128(row, lane % 8 * 16);
    if (model1) {
        const uint4 rope = ld_shared_v4(staged + lane / 8 * apart_token_bytes + 448 + lane % 8 * 16);
        st_shared_v4(keys + 7 * mla_tile_bytes + swizzle_128(row + lane / 8, lane % 8 * 16), rope);
    }
#pragma unroll
    for (int token = 0; token < apart_slot_tokens; token += 2) {
        const apart_chunks chunks[2] = {apart_load(staged + token * apart_token_bytes),
                                        apart_load(staged + (token + 1) * apart_token_bytes)};
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const uint4 values = apart_values_of(chunks[i / 2], i % 2);
            if (!model1 || i % 2 == 0 || lane < 24)
                st_shared_v4((to ^ (token + i / 2) * 16) + (token + i / 2) * 128 + i % 2 * 4 * mla_tile_bytes, values);
        }
    }
}

#endif

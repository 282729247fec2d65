/* SPDX-License-Identifier: Apache-2.0 */
/* A warp a token: a lane takes pieces of eight codes and writes eight BF16 values, 16 bytes. */
#include "kernels/kv_quantise/kv_place.cuh"
#include "kernels/ptx/arithmetic.cuh"
#include "kernels/ptx/global.cuh"
#include "kernels/support/kv_fast.h"
#include "kernels/support/launch.cuh"

constexpr int WARPS = 8;

/* Codes of a piece, in two words (FP8) or one (FP4), and its scale; or eight BF16 values. */
struct kv_piece {
    uint4 words;
    float scale;
};

template <kv_format format> static __device__ __forceinline__ float kv_load_scale_f32(const uint8_t *scales, int tile)
{
    if constexpr (format == KV_V32)
        return *(const float *)(scales + 4 * tile);
    else
        return kv_scale_value(format, scales[tile]);
}

template <kv_format format>
static __device__ __forceinline__ kv_piece kv_load_piece(const uint8_t *codes, const uint8_t *scales,
                                                         const uint8_t *rope, int piece)
{
    constexpr int lanes = kv_tile(format) / 8, quantised = kv_quantised(format) / 8;
    kv_piece p = {};
    if (piece >= quantised) {
        if (piece < kv_values(format) / 8)
            p.words = ld_global_v4(rope + (piece - quantised) * 16);
        return p;
    }
    if constexpr (format == KV_V41_FP4) {
        p.words.x = *(const uint32_t *)(codes + piece * 4);
    } else {
        const uint2 v = ld_global_v2(codes + piece * 8);
        p.words.x = v.x;
        p.words.y = v.y;
    }
    p.scale = kv_load_scale_f32<format>(scales, piece / lanes);
    return p;
}

static __device__ __forceinline__ uint32_t kv_scaled(uint32_t halves, float scale)
{
    return cvt_bf16x2_f32(cvt_f32_f16((uint16_t)halves) * scale, cvt_f32_f16((uint16_t)(halves >> 16)) * scale);
}

static __device__ __forceinline__ uint4 kv_decode_fp8(const kv_piece &p)
{
    const uint2 low = cvt_f16x4_e4m3x4(p.words.x), high = cvt_f16x4_e4m3x4(p.words.y);
    return make_uint4(kv_scaled(low.x, p.scale), kv_scaled(low.y, p.scale), kv_scaled(high.x, p.scale),
                      kv_scaled(high.y, p.scale));
}

/* 2^14 makes up for the f16; a scale has four significant bits, so the product with it is exact. */
static __device__ __forceinline__ uint4 kv_decode_fp4(const kv_piece &p)
{
    const float scale = p.scale * 0x1p14f;
    return make_uint4(kv_scaled(kv_f16x2_e2m1x2(p.words.x), scale), kv_scaled(kv_f16x2_e2m1x2(p.words.x >> 8), scale),
                      kv_scaled(kv_f16x2_e2m1x2(p.words.x >> 16), scale),
                      kv_scaled(kv_f16x2_e2m1x2(p.words.x >> 24), scale));
}

template <kv_format format>
static __global__ void __launch_bounds__(WARPS * 32)
    kv_dequantise_warp(const uint8_t *__restrict__ cache, uint4 *__restrict__ out, unsigned tokens, unsigned page)
{
    constexpr int pieces = kv_values(format) / 8, loads = (pieces + 31) / 32, quantised = kv_quantised(format) / 8;
    const unsigned token = blockIdx.x * WARPS + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (token >= tokens)
        return;
    const kv_place at = kv_place_of<format>(token, page);
    kv_piece p[loads];
#pragma unroll
    for (int i = 0; i < loads; i++)
        p[i] = kv_load_piece<format>(cache + at.codes, cache + at.scales, cache + at.rope, i * 32 + lane);
#pragma unroll
    for (int i = 0; i < loads; i++) {
        const int piece = i * 32 + lane;
        uint4 v = p[i].words;
        if (piece < quantised)
            v = format == KV_V41_FP4 ? kv_decode_fp4(p[i]) : kv_decode_fp8(p[i]);
        if (piece < pieces)
            st_global_v4(out + (int64_t)token * pieces + piece, v);
    }
}

template <kv_format format> static int kv_dequantise_format(const struct ridge_call *call)
{
    const int64_t tokens = call->dim[KV_TOKENS];
    kv_dequantise_warp<format><<<(unsigned)ridge_ceil_div(tokens, WARPS), WARPS * 32, 0, ridge_stream(call)>>>(
        (const uint8_t *)call->buffer[0], (uint4 *)call->buffer[1], (unsigned)tokens, (unsigned)call->dim[KV_PAGE]);
    return RIDGE_LAUNCHED(call);
}

static int launch(const struct ridge_call *call)
{
    switch (kv_format_of(call->dim[KV_BYTES])) {
    case KV_V32:
        return kv_dequantise_format<KV_V32>(call);
    case KV_MODEL1:
        return kv_dequantise_format<KV_MODEL1>(call);
    case KV_V41_FP8:
        return kv_dequantise_format<KV_V41_FP8>(call);
    default:
        return kv_dequantise_format<KV_V41_FP4>(call);
    }
}

extern "C" const struct ridge_variant ridge_variant_kv_dequantise_02_warp = {
    .idea = "a warp a token: a lane turns eight codes into 16 bytes",
    .source = "",
    .changes = "whole lines both ways, packed conversions",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .launch = launch,
    .kernel = (const void *)kv_dequantise_warp<KV_V32>,
};

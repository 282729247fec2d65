/* SPDX-License-Identifier: Apache-2.0 */
/* A warp a token: a lane takes pieces of eight values, one 16-byte load each, and the lanes of a tile find its amax by
 * shuffles. Scales of all but V4.1 FP4 are powers of two, so multiplying by the inverse is dividing. */
#include "kernels/kv_quantise/kv_place.cuh"
#include "kernels/ptx/global.cuh"
#include "kernels/support/block_scale.cuh"
#include "kernels/support/kv_fast.h"
#include "kernels/support/launch.cuh"

constexpr int WARPS = 8;

/* Bits of the scale; of V4.1 FP4 its e4m3 code. */
template <kv_format format> static __device__ __forceinline__ uint32_t kv_scale_of(float amax)
{
    if constexpr (format == KV_V41_FP4) {
        const uint32_t sixth = cvt_f16x2_f32(fmaxf(amax, 6 * 0x1p-9f) * (1 / 6.0f), 0);
        return __float_as_uint(amax) < 0x7f800000 ? cvt_e4m3x2_f16x2(sixth) & 0xff : 0x7f;
    } else {
        return kv_fast_scale(format, __float_as_uint(amax));
    }
}

static __device__ __forceinline__ uint2 kv_codes_fp8(uint4 v, uint32_t scale)
{
    const float inverse = __uint_as_float(0x7f000000 - scale);
    if (scale == 0x7fc00000)
        return make_uint2(0x7f7f7f7f, 0x7f7f7f7f);
    return make_uint2(block_scale_codes4(v.x, v.y, inverse), block_scale_codes4(v.z, v.w, inverse));
}

static __device__ __forceinline__ uint32_t kv_rounded_fp4(uint32_t pair, float inverse)
{
    const float2 value = bf16x2_unpack(pair);
    const uint32_t halves = cvt_f16x2_f32(fabsf(value.x) * inverse, fabsf(value.y) * inverse);
    return kv_e2m1_round(min_u16x2(halves, KV_E2M1_LARGEST), pair);
}

static __device__ __forceinline__ uint32_t kv_codes_fp4(uint4 v, uint32_t scale)
{
    const float inverse = rcp_approx(cvt_f32_f16((uint16_t)cvt_f16x2_e4m3x2((uint16_t)scale))) * KV_E2M1_FACTOR;
    if (scale == 0x7f)
        return 0x77777777;
    return kv_e2m1x8(kv_rounded_fp4(v.x, inverse), kv_rounded_fp4(v.y, inverse), kv_rounded_fp4(v.z, inverse),
                     kv_rounded_fp4(v.w, inverse));
}

template <kv_format format>
static __device__ __forceinline__ void kv_store_scale_of(uint8_t *scales, int tile, uint32_t scale)
{
    if constexpr (format == KV_V32)
        *(uint32_t *)(scales + tile * 4) = scale;
    else
        scales[tile] = (uint8_t)(format == KV_V41_FP4 ? scale : kv_fast_scale_code(format, scale));
}

/* Piece `piece` of a token whose codes, scales and BF16 values begin at the three pointers. All lanes take part. */
template <kv_format format>
static __device__ __forceinline__ void kv_quantise_piece(uint4 v, int piece, uint8_t *codes, uint8_t *scales,
                                                         uint8_t *rope)
{
    constexpr int lanes = kv_tile(format) / 8, quantised = kv_quantised(format) / 8;
    const uint32_t scale = kv_scale_of<format>(block_scale_amax_lanes<lanes>(block_scale_amax_pair(v)));
    if (piece < quantised) {
        if constexpr (format == KV_V41_FP4)
            *(uint32_t *)(codes + piece * 4) = kv_codes_fp4(v, scale);
        else
            st_global_v2(codes + piece * 8, kv_codes_fp8(v, scale));
        if (piece % lanes == 0)
            kv_store_scale_of<format>(scales, piece / lanes, scale);
    } else if (piece < kv_values(format) / 8) {
        st_global_v4(rope + (piece - quantised) * 16, v);
        if (format == KV_MODEL1 && piece == quantised)
            scales[7] = 0;
    }
}

template <kv_format format>
static __global__ void __launch_bounds__(WARPS * 32)
    kv_quantise_warp(const uint4 *__restrict__ x, uint8_t *__restrict__ cache, unsigned tokens, unsigned page)
{
    constexpr int pieces = kv_values(format) / 8, loads = (pieces + 31) / 32;
    const unsigned token = blockIdx.x * WARPS + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (token >= tokens)
        return;
    uint4 v[loads];
#pragma unroll
    for (int i = 0; i < loads; i++) {
        v[i] = make_uint4(0, 0, 0, 0);
        if (i * 32 + lane < pieces)
            v[i] = ld_global_v4(x + (int64_t)token * pieces + i * 32 + lane);
    }
    const kv_place at = kv_place_of<format>(token, page);
#pragma unroll
    for (int i = 0; i < loads; i++)
        kv_quantise_piece<format>(v[i], i * 32 + lane, cache + at.codes, cache + at.scales, cache + at.rope);
}

template <kv_format format> static int kv_quantise_format(const struct ridge_call *call)
{
    const int64_t tokens = call->dim[KV_TOKENS];
    kv_quantise_warp<format><<<(unsigned)ridge_ceil_div(tokens, WARPS), WARPS * 32, 0, ridge_stream(call)>>>(
        (const uint4 *)call->buffer[0], (uint8_t *)call->buffer[1], (unsigned)tokens, (unsigned)call->dim[KV_PAGE]);
    return RIDGE_LAUNCHED(call);
}

static int launch(const struct ridge_call *call)
{
    switch (kv_format_of(call->dim[KV_BYTES])) {
    case KV_V32:
        return kv_quantise_format<KV_V32>(call);
    case KV_MODEL1:
        return kv_quantise_format<KV_MODEL1>(call);
    case KV_V41_FP8:
        return kv_quantise_format<KV_V41_FP8>(call);
    default:
        return kv_quantise_format<KV_V41_FP4>(call);
    }
}

extern "C" const struct ridge_variant ridge_variant_kv_quantise_02_warp = {
    .idea = "a warp a token: 16-byte loads, the amax of a tile by shuffles among its lanes, values stay in registers",
    .source = "",
    .changes = "one pass in whole lines; scales from exponents, packed conversions, e2m1 by integers",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .launch = launch,
    .kernel = (const void *)kv_quantise_warp<KV_V32>,
};

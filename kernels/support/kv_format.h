/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of a quantised MLA cache: where the bytes of a token are, and what they mean. The same on host and
 * device; docs/kv-formats.md has the error tables.
 *
 *   format   bytes  values  quantised   tile  scale  BF16  block of p tokens
 *   V3.2      656    576    512 e4m3    128   FP32    64   656 p; token: 512 codes, 4 scales, 64 BF16
 *   MODEL1    584    512    448 e4m3     64   UE8M0   64   584 p rounded up to 576: p times (448 codes, 64 BF16), then
 *                                                          p times (7 scales, 1 byte of padding)
 *   V4.1 FP8  528    512    512 e4m3     32   UE8M0    0   528 p; token: 512 codes, 16 scales
 *   V4.1 FP4  288    512    512 e2m1     16   e4m3     0   288 p; token: 256 bytes of two codes, 32 scales
 *
 * All is little-endian; of two e2m1 codes in a byte the one of even index is in the low bits. Tile t is values t tile
 * to (t + 1) tile - 1 and has scale t. The 64 values behind the quantised ones (RoPE) are BF16 and have no scale; V4.1
 * quantises them like the rest. Codes, scales and BF16 of a token begin at multiples of 16 bytes of a block (MODEL1's
 * scales: 8). Blocks may lie further apart than kv_block_bytes, so the distance between them is the caller's.
 * Sources: FlashMLA 9241ae3 (tests/quant.py) for V3.2 and MODEL1; FlashMLA 2e5429fc (README,
 * csrc/cuda_kernels/kv_cache_format.h) for the layouts of V4.1, and for its scales the act_quant and fp4_act_quant of
 * the model's reference code as SGLang and vLLM carry them.
 *
 * Decoding: value = code times scale in FP32, rounded once. Exact while the product is a normal number: scales are
 * powers of two, or have four significant bits (V4.1 FP4), but for KV_SCALE_EXACT and what others wrote. A caller that
 * needs BF16 rounds once more. What a scale gives:
 *
 *   0                      0 with the sign of the code, NaN for NaN codes (FP32, e4m3; UE8M0 has no zero)
 *   subnormal              not flushed: UE8M0 0x00 is 2^-127, e4m3 0x01 is 2^-9, FP32 is what it says
 *   infinite (FP32 only)   infinity with the product of the signs; NaN for code 0 and NaN codes
 *   NaN                    NaN for the whole tile: FP32, UE8M0 0xff, e4m3 0x7f and 0xff
 *   negative (FP32, e4m3)  a factor like any other; no encoder writes it
 *   UE8M0 0xfe (2^127)     infinity for codes of magnitude 2 and more: FP32 overflows
 *
 * e4m3 codes 0x7f and 0xff are NaN. e2m1 has neither NaN nor infinity: only the scale can say it.
 *
 * Encoding: scale from the tile's largest magnitude (amax), code = value / scale in FP32 (IEEE division), rounded to
 * nearest even and saturated. The scales:
 *   V3.2, MODEL1   least power of two >= max(amax / 448, 1e-4): never below 2^-13
 *   V3.2 exact     max(amax, 1e-4) / 448 (KV_SCALE_EXACT; the rule of DeepGEMM's tests without rounding)
 *   V4.1 FP8       least power of two >= max(amax, 1e-4) / 448: never below 2^-22
 *   V4.1 FP4       e4m3(max(amax, 6 2^-9) / 6), nearest: 2^-9 to 448. Where that rounded down, by up to 1/17 and below
 *                  2^-6 by up to 1/3, values between 6 scale and amax saturate; so do all values above 2688
 * A tile of zeros has the least scale and codes 0 (negative zeros keep their sign). A tile with a NaN or an infinity
 * has the scale NaN (0x7fc00000, 0xff, 0x7f) and codes 0x7f (e2m1: 7), so that all of it decodes to NaN: FlashMLA's
 * quantiser decodes to the same, by other bytes. Its powers of two come from an FP32 logarithm, which can lose an amax
 * that is a few units in the last place above 448 times a power of two; here they come from the bits. BF16 values of
 * RoPE are rounded to nearest even and may be infinite or NaN. */
#ifndef RIDGE_KV_FORMAT_H
#define RIDGE_KV_FORMAT_H

#include "kernels/support/numeric.h"

enum kv_format { KV_V32, KV_MODEL1, KV_V41_FP8, KV_V41_FP4, KV_FORMATS };

/* KV_SCALE_EXACT changes V3.2 only: no other format can store such a scale. */
enum kv_scale_rule { KV_SCALE_FORMAT, KV_SCALE_EXACT };

enum { KV_MAX_VALUES = 576 };

/* Sizes of a format: constants where the format is one. */
#ifdef __CUDACC__
#define KV_SIZE static constexpr __host__ __device__ __forceinline__
#else
#define KV_SIZE static inline
#endif

KV_SIZE int kv_values(enum kv_format format)
{
    return format == KV_V32 ? 576 : 512;
}

KV_SIZE int kv_quantised(enum kv_format format)
{
    return format == KV_MODEL1 ? 448 : 512;
}

/* BF16 values behind the quantised ones. */
KV_SIZE int kv_rope(enum kv_format format)
{
    return kv_values(format) - kv_quantised(format);
}

/* Values that share a scale. */
KV_SIZE int kv_tile(enum kv_format format)
{
    return format == KV_V32 ? 128 : format == KV_MODEL1 ? 64 : format == KV_V41_FP8 ? 32 : 16;
}

KV_SIZE int kv_tiles(enum kv_format format)
{
    return kv_quantised(format) / kv_tile(format);
}

KV_SIZE int kv_code_bytes(enum kv_format format)
{
    return format == KV_V41_FP4 ? 256 : kv_quantised(format);
}

/* Of one scale. */
KV_SIZE int kv_scale_bytes(enum kv_format format)
{
    return format == KV_V32 ? 4 : 1;
}

/* Of all of a token, MODEL1's byte of padding included. */
KV_SIZE int kv_token_bytes(enum kv_format format)
{
    return format == KV_V32 ? 656 : format == KV_MODEL1 ? 584 : format == KV_V41_FP8 ? 528 : 288;
}

/* Bytes of a block of `page` tokens. */
RIDGE_INLINE int64_t kv_block_bytes(enum kv_format format, int page)
{
    int64_t bytes = (int64_t)page * kv_token_bytes(format);
    return format == KV_MODEL1 ? (bytes + 575) / 576 * 576 : bytes;
}

/* Where the codes of token `i` of a block begin. */
RIDGE_INLINE int64_t kv_token_offset(enum kv_format format, int i)
{
    return (int64_t)i * (format == KV_MODEL1 ? 576 : kv_token_bytes(format));
}

RIDGE_INLINE int64_t kv_scale_offset(enum kv_format format, int page, int i)
{
    if (format == KV_MODEL1)
        return (int64_t)page * 576 + (int64_t)i * 8;
    return kv_token_offset(format, i) + kv_code_bytes(format);
}

/* -1 where a format has no BF16 values. */
RIDGE_INLINE int64_t kv_rope_offset(enum kv_format format, int i)
{
    if (kv_rope(format) == 0)
        return -1;
    return kv_token_offset(format, i) + (format == KV_V32 ? 528 : 448);
}

/* NaN if there is one: bits of magnitudes are ordered like their values, and NaN is above infinity. */
RIDGE_INLINE float kv_amax(const float *value, int count)
{
    uint32_t largest = 0;
    for (int i = 0; i < count; i++) {
        uint32_t magnitude = f32_bits(value[i]) & 0x7fffffffu;
        largest = magnitude > largest ? magnitude : largest;
    }
    return f32_from_bits(largest);
}

/* Bits of the scale as it is stored. */
RIDGE_INLINE uint32_t kv_scale_code(enum kv_format format, enum kv_scale_rule rule, float amax)
{
    int finite = f32_bits(amax) < 0x7f800000u;
    if (format == KV_V41_FP4)
        return finite ? e4m3_from_f32((amax > 0.01171875f ? amax : 0.01171875f) / 6.0f) : 0x7fu; /* 6 2^-9 */
    float scale;
    if (format == KV_V41_FP8 || (format == KV_V32 && rule == KV_SCALE_EXACT)) {
        scale = (amax > 1e-4f ? amax : 1e-4f) / 448.0f;
    } else {
        scale = amax / 448.0f;
        scale = scale > 1e-4f ? scale : 1e-4f;
    }
    if (format != KV_V32)
        return finite ? ue8m0_from_f32(scale) : 0xffu;
    if (!finite)
        return 0x7fc00000u;
    return rule == KV_SCALE_EXACT ? f32_bits(scale) : (f32_bits(scale) + 0x7fffffu) & 0x7f800000u;
}

RIDGE_INLINE float kv_scale_value(enum kv_format format, uint32_t code)
{
    return format == KV_V32       ? f32_from_bits(code)
           : format == KV_V41_FP4 ? e4m3_to_f32((uint8_t)code)
                                  : ue8m0_to_f32((uint8_t)code);
}

/* The e4m3 or e2m1 code of one value. The quotient with a NaN scale has a sign that differs between processors. */
RIDGE_INLINE uint8_t kv_code(enum kv_format format, float value, float scale)
{
    int nan = (f32_bits(scale) & 0x7fffffffu) > 0x7f800000u;
    if (format == KV_V41_FP4)
        return nan ? 7 : e2m1_from_f32(value / scale);
    return nan ? 0x7fu : e4m3_from_f32(value / scale);
}

RIDGE_INLINE void kv_store_scale(enum kv_format format, uint8_t *scales, int tile, uint32_t code)
{
    if (format != KV_V32) {
        scales[tile] = (uint8_t)code;
        return;
    }
    for (int byte = 0; byte < 4; byte++)
        scales[4 * tile + byte] = (uint8_t)(code >> 8 * byte);
}

RIDGE_INLINE uint32_t kv_load_scale(enum kv_format format, const uint8_t *scales, int tile)
{
    if (format != KV_V32)
        return scales[tile];
    uint32_t code = 0;
    for (int byte = 0; byte < 4; byte++)
        code |= (uint32_t)scales[4 * tile + byte] << 8 * byte;
    return code;
}

/* Writes kv_values(format) values as token `i` of a block, and no byte of another token or of a block's padding. */
RIDGE_INLINE void kv_encode(enum kv_format format, enum kv_scale_rule rule, const float *value, int page, int i,
                            uint8_t *block)
{
    uint8_t *codes = block + kv_token_offset(format, i), *scales = block + kv_scale_offset(format, page, i);
    int width = kv_tile(format);
    for (int tile = 0; tile < kv_tiles(format); tile++) {
        const float *first = value + tile * width;
        uint32_t scale_code = kv_scale_code(format, rule, kv_amax(first, width));
        float scale = kv_scale_value(format, scale_code);
        kv_store_scale(format, scales, tile, scale_code);
        for (int j = 0; j < width; j++) {
            uint8_t code = kv_code(format, first[j], scale);
            int at = tile * width + j;
            if (format != KV_V41_FP4)
                codes[at] = code;
            else if (at % 2 == 0)
                codes[at / 2] = code;
            else
                codes[at / 2] = (uint8_t)(codes[at / 2] | code << 4);
        }
    }
    if (format == KV_MODEL1)
        scales[7] = 0;
    for (int j = 0; j < kv_rope(format); j++) {
        uint16_t bits = bf16_from_f32(value[kv_quantised(format) + j]);
        uint8_t *rope = block + kv_rope_offset(format, i) + 2 * j;
        rope[0] = (uint8_t)bits;
        rope[1] = (uint8_t)(bits >> 8);
    }
}

RIDGE_INLINE void kv_decode(enum kv_format format, const uint8_t *block, int page, int i, float *value)
{
    const uint8_t *codes = block + kv_token_offset(format, i), *scales = block + kv_scale_offset(format, page, i);
    for (int j = 0; j < kv_quantised(format); j++) {
        float scale = kv_scale_value(format, kv_load_scale(format, scales, j / kv_tile(format)));
        float code =
            format == KV_V41_FP4 ? e2m1_to_f32((uint8_t)(codes[j / 2] >> (j % 2 ? 4 : 0))) : e4m3_to_f32(codes[j]);
        value[j] = code * scale;
    }
    for (int j = 0; j < kv_rope(format); j++) {
        const uint8_t *rope = block + kv_rope_offset(format, i) + 2 * j;
        value[kv_quantised(format) + j] = bf16_to_f32((uint16_t)(rope[0] | rope[1] << 8));
    }
}

/* What a format does to random tokens: the values encoded, decoded and compared. */
enum kv_data {
    KV_NORMAL,   /* N(0, 1) */
    KV_OUTLIERS, /* N(0, 1), about one value in 64 is 32 times as large */
    KV_SMALL,    /* N(0, 1) / 1000 */
    KV_TINY,     /* N(0, 1) / 1000000 */
    KV_DATA
};

struct kv_error {
    double rms_quantised; /* root of the sum of squared errors over that of squared values, of the quantised values */
    double rms_rope;      /* of the BF16 values; 0 where a format has none */
    double max_quantised; /* largest error as a share of the amax of its tile */
    double underflow;     /* share of the quantised values that are not zero and decode to zero */
};

/* Host only. Deterministic in `seed`. */
#ifdef __cplusplus
extern "C"
#endif
    void
    kv_measure_error(enum kv_format format, enum kv_scale_rule rule, enum kv_data data, int tokens, uint64_t seed,
                     struct kv_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The token formats byte by byte, against values worked out by hand; which bytes a token owns; what special scales and
 * codes decode to; the rules of the scales. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/support/fill.h"
#include "kernels/support/kv_format.h"

enum { LARGEST_BLOCK = 656 * 576, GUARD = 1024 };

static void expect_bytes(const uint8_t *actual, const uint8_t *expected, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (actual[i] != expected[i])
            fail_msg("byte %lld: 0x%02x, expected 0x%02x", (long long)i, actual[i], expected[i]);
}

static void test_sizes(void **state)
{
    (void)state;
    static const int bytes[KV_FORMATS] = {656, 584, 528, 288}, tiles[KV_FORMATS] = {4, 7, 16, 32};
    for (int format = 0; format < KV_FORMATS; format++) {
        assert_int_equal(kv_token_bytes(format), bytes[format]);
        assert_int_equal(kv_tiles(format), tiles[format]);
        int padding = format == KV_MODEL1;
        assert_int_equal(kv_code_bytes(format) + kv_tiles(format) * kv_scale_bytes(format) + padding +
                             2 * kv_rope(format),
                         bytes[format]);
        assert_true(kv_values(format) <= KV_MAX_VALUES);
    }
    assert_int_equal(kv_block_bytes(KV_V32, 64), 41984);
    assert_int_equal(kv_block_bytes(KV_MODEL1, 1), 1152);
    assert_int_equal(kv_block_bytes(KV_MODEL1, 2), 1728);
    assert_int_equal(kv_block_bytes(KV_MODEL1, 64), 37440); /* 37376 = 64.9 x 576 */
    assert_int_equal(kv_block_bytes(KV_MODEL1, 72), 42048); /* 73 x 576 already */
    assert_int_equal(kv_block_bytes(KV_V41_FP8, 64), 33792);
    assert_int_equal(kv_block_bytes(KV_V41_FP4, 1 << 24), (int64_t)288 << 24);
}

static void test_v32_bytes(void **state)
{
    (void)state;
    float value[576] = {0};
    value[0] = 448, value[1] = 1, value[2] = -0.5f, value[3] = -0.0f; /* 448 / 448: scale 1 */
    value[128] = 450, value[255] = 17;                                /* 450 / 448: scale 2; 8.5 is a tie: 8 */
    value[511] = -3;                                                  /* 3 / 448: scale 2^-7; tile 2 is all zero */
    value[512] = 1, value[575] = -1.01171875f;                        /* 1 + 3 2^-8: tie, to even */
    uint8_t block[2 * 656], expected[2 * 656];
    memset(block, 0xa5, sizeof block);
    memset(expected, 0xa5, sizeof expected);
    uint8_t *token = expected + 656;
    memset(token, 0, 656);
    token[0] = 0x7e, token[1] = 0x38, token[2] = 0xb0, token[3] = 0x80;
    token[128] = 0x76, token[255] = 0x50; /* 225: 224 */
    token[511] = 0xfc;                    /* -384 */
    static const uint8_t scales[16] = {0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 0, 0, 0, 0x39, 0, 0, 0, 0x3c};
    memcpy(token + 512, scales, 16);
    token[528] = 0x80, token[529] = 0x3f, token[654] = 0x82, token[655] = 0xbf;
    kv_encode(KV_V32, KV_SCALE_FORMAT, value, 2, 1, block);
    expect_bytes(block, expected, sizeof block);

    kv_encode(KV_V32, KV_SCALE_EXACT, value, 2, 1, block);
    token[255] = 0x58;                    /* 17 / 1.0044643 = 16.92: 16 */
    token[128] = 0x7e, token[511] = 0xfe; /* 448 scale */
    static const float exact[4] = {1, 1.00446428571f, 2.23214286e-7f, 0.00669642857f};
    for (int i = 0; i < 4; i++)
        for (int byte = 0; byte < 4; byte++)
            token[512 + 4 * i + byte] = (uint8_t)(f32_bits(exact[i]) >> 8 * byte);
    expect_bytes(block, expected, sizeof block);
}

static void test_model1_bytes(void **state)
{
    (void)state;
    float value[512] = {0};
    value[0] = 448, value[63] = 0.001953125f;    /* scale 1; smallest subnormal; tile 1 is all zero */
    value[130] = INFINITY, value[131] = 5;       /* tile 2 */
    value[192] = NAN;                            /* tile 3 */
    value[256] = 0.001f, value[257] = -0x1p-13f; /* tile 4: 2.2e-6 is below 1e-4: scale 2^-13 */
    value[320] = 1e30f;                          /* tile 5: 2.2e27 is between 2^90 and 2^91 */
    value[447] = -3;                             /* tile 6: scale 2^-7 */
    value[448] = 1, value[511] = -2;
    uint8_t block[2304], expected[2304];
    memset(block, 0xa5, sizeof block);
    memset(expected, 0xa5, sizeof expected);
    assert_int_equal(kv_block_bytes(KV_MODEL1, 3), 2304);
    memset(expected + 576, 0, 576);
    uint8_t *token = expected + 576;
    token[0] = 0x7e, token[63] = 0x01;
    memset(token + 128, 0x7f, 128);
    token[256] = 0x50, token[257] = 0xb8; /* 0.001 2^13 = 8.192: 8; -1 */
    token[320] = 0x7d;                    /* 1e30 2^-91 = 403.9: 416 = 1.625 2^8 */
    token[447] = 0xfc;
    token[448] = 0x80, token[449] = 0x3f, token[574] = 0x00, token[575] = 0xc0;
    static const uint8_t scales[8] = {127, 114, 0xff, 0xff, 114, 218, 120, 0};
    memcpy(expected + 1728 + 8, scales, 8);
    kv_encode(KV_MODEL1, KV_SCALE_FORMAT, value, 3, 1, block);
    expect_bytes(block, expected, sizeof block);
    kv_encode(KV_MODEL1, KV_SCALE_EXACT, value, 3, 1, block); /* cannot store another scale */
    expect_bytes(block, expected, sizeof block);
}

static void test_v41_fp8_bytes(void **state)
{
    (void)state;
    float value[512] = {0};
    value[0] = 448, value[32] = 1;            /* scales 1 and 2^-8 */
    value[96] = -NAN, value[130] = -INFINITY; /* tiles 3 and 4 */
    value[160] = 1e-4f, value[161] = 1e-5f;   /* tile 5: 2^-22 is the least scale */
    value[480] = 900, value[511] = -900;      /* tile 15: scale 4, 225: 224 */
    uint8_t block[3 * 528], expected[3 * 528];
    memset(block, 0xa5, sizeof block);
    memset(expected, 0xa5, sizeof expected);
    uint8_t *token = expected + 2 * 528;
    memset(token, 0, 512);
    token[0] = 0x7e, token[32] = 0x78;
    memset(token + 96, 0x7f, 64);
    token[160] = 0x7d, token[161] = 0x62; /* 419.4: 416; 41.94: 40 */
    token[480] = 0x76, token[511] = 0xf6;
    memset(token + 512, 105, 16);
    token[512] = 127, token[513] = 119, token[515] = token[516] = 0xff, token[527] = 129;
    kv_encode(KV_V41_FP8, KV_SCALE_FORMAT, value, 3, 2, block);
    expect_bytes(block, expected, sizeof block);
}

static void test_v41_fp4_bytes(void **state)
{
    (void)state;
    static const struct {
        float value[8];
        uint8_t bytes[4], scale;
    } tile[9] = {
        {{6, -3, 0.5f, 0.25f, 0.75f, 2.5f, 5, -6}, {0xd7, 0x01, 0x42, 0xf6}, 0x38}, /* scale 1, ties to even */
        {{8.25f, 4.125f, 3.4375f, -4.8125f}, {0x57, 0xe4}, 0x3b},                   /* scale 1.375 */
        {{1e6f, -1e6f, 0, 2688}, {0xf7, 0x70}, 0x7e},                               /* scale 448, saturated */
        {{6.375f, 0, 0, -6}, {0x07, 0xf0}, 0x38},                                   /* 1.0625: tie to 1 */
        {{7.125f}, {0x07}, 0x3a},                                                   /* 1.1875: tie to 1.25 */
        {{0x1p-12f, -0x1p-12f}, {0x80}, 0x01},                                      /* below the least scale */
        {{0x1.8p-7f, 0x1p-10f}, {0x17}, 0x01},                                      /* 6 2^-9 */
        {{0x1.2p-5f, 0x1.8p-9f}, {0x17}, 0x03},                                     /* subnormal scale 3 2^-9 */
        {{1, NAN}, {0x77, 0x77, 0x77, 0x77}, 0x7f},
    };
    float value[512] = {0};
    uint8_t block[288 + 1], expected[288 + 1];
    memset(block, 0xa5, sizeof block);
    memset(expected, 0, 256);
    memset(expected + 256, 0x01, 32);
    expected[288] = 0xa5;
    for (int i = 0; i < 9; i++) {
        memcpy(value + 16 * i, tile[i].value, sizeof tile[i].value);
        memcpy(expected + 8 * i, tile[i].bytes, sizeof tile[i].bytes);
        expected[256 + i] = tile[i].scale;
    }
    memset(expected + 64, 0x77, 8);
    kv_encode(KV_V41_FP4, KV_SCALE_FORMAT, value, 1, 0, block);
    expect_bytes(block, expected, sizeof block);

    float decoded[512];
    kv_decode(KV_V41_FP4, block, 1, 0, decoded);
    static const float second[4] = {8.25f, 4.125f, 2.75f, -5.5f};
    for (int i = 0; i < 4; i++)
        assert_true(decoded[16 + i] == second[i]);
    assert_true(decoded[32] == 2688 && decoded[33] == -2688 && decoded[48] == 6 && decoded[64] == 7.5f);
    assert_true(decoded[80] == 0 && decoded[96] == 0x1.8p-7f && decoded[112] == 0x1.2p-5f);
    for (int i = 128; i < 144; i++)
        assert_true(isnan(decoded[i]));
    assert_true(decoded[144] == 0);
}

/* Bytes that token `i` owns, from the description of the formats and not from the functions under test. */
static void mark_owned(enum kv_format format, int page, int i, uint8_t *owned)
{
    static const int bytes[KV_FORMATS] = {656, 576, 528, 288};
    memset(owned + (int64_t)i * bytes[format], 1, (size_t)bytes[format]);
    if (format == KV_MODEL1)
        memset(owned + (int64_t)page * 576 + (int64_t)i * 8, 1, 8);
}

static void check_ownership(enum kv_format format, int page, int i, const float *value)
{
    int64_t size = kv_block_bytes(format, page) + GUARD;
    uint8_t *low = malloc((size_t)size), *high = malloc((size_t)size), *owned = calloc(1, (size_t)size);
    assert_true(low && high && owned);
    memset(low, 0x5a, (size_t)size);
    memset(high, 0xa5, (size_t)size);
    mark_owned(format, page, i, owned);
    kv_encode(format, KV_SCALE_FORMAT, value, page, i, low);
    kv_encode(format, KV_SCALE_FORMAT, value, page, i, high);
    for (int64_t at = 0; at < size; at++)
        if (owned[at] ? low[at] != high[at] : low[at] != 0x5a || high[at] != 0xa5)
            fail_msg("format %d page %d token %d byte %lld", format, page, i, (long long)at);
    free(low);
    free(high);
    free(owned);
}

static void test_pages(void **state)
{
    (void)state;
    static const int pages[] = {1, 2, 53, 61, 64, 69, 576};
    for (int format = 0; format < KV_FORMATS; format++)
        for (size_t p = 0; p < sizeof pages / sizeof *pages; p++) {
            int page = pages[p];
            float value[KV_MAX_VALUES], decoded[KV_MAX_VALUES], alone[KV_MAX_VALUES];
            uint8_t *block = malloc(LARGEST_BLOCK), single[1152];
            assert_non_null(block);
            for (int i = 0; i < page; i++) {
                for (int j = 0; j < kv_values(format); j++)
                    value[j] = fill_normal((uint64_t)i, (uint64_t)j, 1 + (float)i);
                if (i == 0 || i == page / 2 || i == page - 1)
                    check_ownership(format, page, i, value);
                kv_encode(format, KV_SCALE_FORMAT, value, page, i, block);
            }
            for (int i = 0; i < page; i++) {
                for (int j = 0; j < kv_values(format); j++)
                    value[j] = fill_normal((uint64_t)i, (uint64_t)j, 1 + (float)i);
                kv_encode(format, KV_SCALE_FORMAT, value, 1, 0, single);
                kv_decode(format, single, 1, 0, alone);
                kv_decode(format, block, page, i, decoded);
                assert_memory_equal(decoded, alone, sizeof(float) * (size_t)kv_values(format));
            }
            free(block);
        }
}

/* Encoding what a token decodes to gives its bytes again, if every tile has its largest code. */
static void test_round_trip(void **state)
{
    (void)state;
    for (int format = 0; format < KV_FORMATS; format++)
        for (uint64_t round = 0; round < 50; round++) {
            uint8_t block[1152] = {0}, again[1152] = {0};
            float value[KV_MAX_VALUES];
            for (int j = 0; j < kv_code_bytes(format); j++) {
                block[j] = (uint8_t)fill_hash(round, (uint64_t)j);
                if (format != KV_V41_FP4 && (block[j] & 0x7f) == 0x7f)
                    block[j] ^= 0x40;
            }
            for (int tile = 0; tile < kv_tiles(format); tile++) {
                int width = kv_code_bytes(format) / kv_tiles(format);
                block[tile * width] = format == KV_V41_FP4 ? 0x1f : 0xfe;
                uint32_t pick = (uint32_t)fill_hash(round + 1000, (uint64_t)tile);
                kv_store_scale(format, block + kv_scale_offset(format, 1, 0), tile,
                               format == KV_V32       ? (114 + pick % 100) << 23
                               : format == KV_V41_FP4 ? 1 + pick % 0x7e
                                                      : 114 + pick % 100);
            }
            for (int j = 0; j < kv_rope(format); j++)
                block[kv_rope_offset(format, 0) + 2 * j] = (uint8_t)j;
            kv_decode(format, block, 1, 0, value);
            kv_encode(format, KV_SCALE_FORMAT, value, 1, 0, again);
            expect_bytes(again, block, sizeof block);
        }
}

static float decode_one(enum kv_format format, uint32_t scale, uint8_t code)
{
    uint8_t block[1152] = {0};
    float value[KV_MAX_VALUES];
    int last = kv_tiles(format) - 1;
    kv_store_scale(format, block + kv_scale_offset(format, 1, 0), last, scale);
    block[kv_code_bytes(format) - 1] = format == KV_V41_FP4 ? (uint8_t)(code << 4) : code;
    kv_decode(format, block, 1, 0, value);
    return value[kv_quantised(format) - 1];
}

static void test_special_scales(void **state)
{
    (void)state;
    const uint32_t one = 0x38, minus_one = 0xb8, zero = 0, nan = 0x7f, inf = 0x7f800000;
    assert_int_equal(f32_bits(decode_one(KV_V32, 0, (uint8_t)one)), 0);
    assert_int_equal(f32_bits(decode_one(KV_V32, 0, (uint8_t)minus_one)), 0x80000000);
    assert_true(isnan(decode_one(KV_V32, 0, (uint8_t)nan)));
    assert_int_equal(f32_bits(decode_one(KV_V32, 1, (uint8_t)one)), 1); /* 2^-149 */
    assert_int_equal(f32_bits(decode_one(KV_V32, 3, 0x40)), 6);
    assert_true(decode_one(KV_V32, inf, (uint8_t)one) == INFINITY);
    assert_true(decode_one(KV_V32, inf, (uint8_t)minus_one) == -INFINITY);
    assert_true(isnan(decode_one(KV_V32, inf, (uint8_t)zero)));
    assert_true(isnan(decode_one(KV_V32, inf, (uint8_t)nan)));
    assert_true(isnan(decode_one(KV_V32, 0x7fc00000, (uint8_t)zero)));
    assert_true(decode_one(KV_V32, 0xc0000000, (uint8_t)one) == -2);
    for (int format = KV_V32; format <= KV_V41_FP8; format++) {
        uint32_t unity = format == KV_V32 ? 0x3f800000 : 127;
        assert_true(isnan(decode_one(format, unity, 0x7f)) && isnan(decode_one(format, unity, 0xff)));
        assert_true(decode_one(format, unity, 0x7e) == 448);
    }
    for (int format = KV_MODEL1; format <= KV_V41_FP8; format++) {
        assert_true(decode_one(format, 0, (uint8_t)one) == 0x1p-127f);
        assert_true(decode_one(format, 0, 0x01) == 0x1p-136f);
        assert_true(decode_one(format, 0xfe, 0x3f) == 0x1.ep127f);
        assert_true(decode_one(format, 0xfe, 0xc0) == -INFINITY);
        assert_true(decode_one(format, 0xfe, (uint8_t)zero) == 0);
        assert_true(isnan(decode_one(format, 0xff, (uint8_t)zero)));
    }
    assert_int_equal(f32_bits(decode_one(KV_V41_FP4, 0, 7)), 0);
    assert_int_equal(f32_bits(decode_one(KV_V41_FP4, 0x80, 7)), 0x80000000);
    assert_true(decode_one(KV_V41_FP4, 1, 1) == 0x1p-10f && decode_one(KV_V41_FP4, minus_one, 7) == -6);
    assert_true(isnan(decode_one(KV_V41_FP4, 0x7f, 0)) && isnan(decode_one(KV_V41_FP4, 0xff, 0)));
}

static void test_scale_rules(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 0x7f80; bits++) { /* every finite BF16 amax */
        float amax = bf16_to_f32((uint16_t)bits);
        double least = fmax((double)amax / 448, 1e-4f);
        double v32 = kv_scale_value(KV_V32, kv_scale_code(KV_V32, KV_SCALE_FORMAT, amax));
        double model1 = kv_scale_value(KV_MODEL1, kv_scale_code(KV_MODEL1, KV_SCALE_FORMAT, amax));
        assert_true(v32 >= least && v32 / 2 < least && v32 == model1);
        int exponent;
        assert_true(frexp(v32, &exponent) == 0.5);

        double v41 = kv_scale_value(KV_V41_FP8, kv_scale_code(KV_V41_FP8, KV_SCALE_FORMAT, amax));
        double clamped = fmax(amax, 1e-4f);
        assert_true(v41 * 448 >= clamped && v41 * 224 < clamped && frexp(v41, &exponent) == 0.5);
        float product = fmaxf(amax, 1e-4f) * (float)(1.0 / 448);
        assert_int_equal(ue8m0_from_f32(product), kv_scale_code(KV_V41_FP8, KV_SCALE_FORMAT, amax));

        uint32_t code = kv_scale_code(KV_V41_FP4, KV_SCALE_FORMAT, amax);
        double wanted = fmin(fmax(amax, 6 * 0x1p-9) / 6, 448);
        double error = fabs(e4m3_to_f32((uint8_t)code) - wanted);
        assert_true(code >= 1 && code <= 0x7e && error <= fabs(e4m3_to_f32((uint8_t)(code - 1)) - wanted));
        assert_true(code == 0x7e || error <= fabs(e4m3_to_f32((uint8_t)(code + 1)) - wanted));

        double exact = f32_from_bits(kv_scale_code(KV_V32, KV_SCALE_EXACT, amax));
        assert_true(fabs(exact - clamped / 448) <= exact * 0x1p-24);
    }
    for (int rule = KV_SCALE_FORMAT; rule <= KV_SCALE_EXACT; rule++) {
        assert_int_equal(kv_scale_code(KV_V32, rule, INFINITY), 0x7fc00000);
        assert_int_equal(kv_scale_code(KV_V32, rule, NAN), 0x7fc00000);
        assert_int_equal(kv_scale_code(KV_MODEL1, rule, NAN), 0xff);
        assert_int_equal(kv_scale_code(KV_V41_FP8, rule, INFINITY), 0xff);
        assert_int_equal(kv_scale_code(KV_V41_FP4, rule, INFINITY), 0x7f);
    }
    assert_int_equal(kv_scale_code(KV_V32, KV_SCALE_FORMAT, nextafterf(448, 449)), 0x40000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),         cmocka_unit_test(test_v32_bytes),
        cmocka_unit_test(test_model1_bytes),  cmocka_unit_test(test_v41_fp8_bytes),
        cmocka_unit_test(test_v41_fp4_bytes), cmocka_unit_test(test_pages),
        cmocka_unit_test(test_round_trip),    cmocka_unit_test(test_special_scales),
        cmocka_unit_test(test_scale_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The reference of mla_decode_sparse_512 and its host variant on cases known by hand, for each of its formats: which
 * indices are tokens, what a token is worth as key and as value, what special scales and codes give, what is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define SPARSE_512
#include "kernels/mla_decode_sparse_fp8/mla_sparse.h"
#include "tests/family_case.h"

extern const struct ridge_family ridge_family_mla_decode_sparse_512;
extern const struct ridge_variant ridge_variant_mla_decode_sparse_512_h01_naive;
static const struct ridge_family *const family = &ridge_family_mla_decode_sparse_512;
static const struct ridge_variant *const variant = &ridge_variant_mla_decode_sparse_512_h01_naive;
static const struct ridge_device device = {.kind = RIDGE_HOST, .sms = 2};
static const int64_t token_bytes[] = {584, 528, 288};
enum { RANDOM, INVALID, ALL_INVALID };

static int launch(struct family_case *c, const size_t *buffer_bytes, char *message, size_t message_bytes)
{
    void *workspace = case_alloc(variant->workspace_bytes(c->dim, &device));
    const struct ridge_call call = {.dim = c->dim,
                                    .buffer = c->buffer,
                                    .buffer_bytes = buffer_bytes,
                                    .workspace = workspace,
                                    .device = &device,
                                    .error = message,
                                    .error_bytes = message_bytes};
    const int status = variant->launch(&call);
    free(workspace);
    return status;
}

static void run(struct family_case *c)
{
    char message[256] = "";
    case_reset(c);
    assert_int_equal(launch(c, NULL, message, sizeof message), 0);
}

static double out(const struct family_case *c, int64_t i)
{
    return case_value(c->buffer[SPARSE_OUT], RIDGE_BF16, i);
}

static float lse(const struct family_case *c, int64_t i)
{
    return ((const float *)c->buffer[SPARSE_LSE])[i];
}

/* Parts of token 0 of the first block. */
static uint8_t *codes(struct family_case *c)
{
    return (uint8_t *)c->buffer[SPARSE_CACHE];
}

static uint8_t *scales(struct family_case *c)
{
    return codes(c) + kv_scale_offset(sparse_format(c->dim), (int)c->dim[SPARSE_PAGE_SIZE], 0);
}

/* q = 0 and a token twice gives all of its 512 values, RoPE included, and log 2. */
static void indices_outside_the_cache_are_no_tokens(void **state)
{
    (void)state;
    const int32_t outside[] = {-1, -2, 105, 106, 1 << 20, INT32_MAX, INT32_MIN, -123456};
    for (int f = 0; f < 3; f++) {
        const int64_t dim[] = {1, 1, 64, 64, 100, 7, token_bytes[f]}; /* 15 pages, capacity 105 */
        float value[SPARSE_D_K];
        struct family_case c;
        case_open(&c, family, dim, RANDOM, NULL);
        int32_t *indices = c.buffer[SPARSE_INDICES];
        memset(c.buffer[SPARSE_Q], 0, c.bytes[SPARSE_Q]);
        for (int i = 0; i < 64; i++)
            indices[i] = outside[i % 8];
        indices[3] = indices[40] = 99;
        family->reference(dim, c.buffer, c.ref, c.mag);
        run(&c);
        assert_true(case_max_error(&c) <= 1);
        sparse_decode(dim, c.buffer[SPARSE_CACHE], 99, value);
        for (int i = 0; i < SPARSE_D_V; i++)
            assert_true(out(&c, i) == bf16_to_f32(bf16_from_f32(value[i])));
        assert_true(fabsf(lse(&c, 0) - logf(2)) < 1e-6f);
        assert_int_equal(case_guard_damage(&c), 0);
        case_close(&c);
    }
}

/* Scores are divided by the root of 512, and all 512 values are key: q = 1 in one of the last columns. */
static void the_last_columns_are_key_too(void **state)
{
    (void)state;
    for (int f = 0; f < 3; f++) {
        const int64_t dim[] = {1, 1, 64, 64, 64, 64, token_bytes[f]};
        float value[SPARSE_D_K];
        struct family_case c;
        case_open(&c, family, dim, RANDOM, NULL);
        memset(c.buffer[SPARSE_Q], 0, c.bytes[SPARSE_Q]);
        memset(c.buffer[SPARSE_INDICES], 0xff, c.bytes[SPARSE_INDICES]);
        ((int32_t *)c.buffer[SPARSE_INDICES])[5] = 17;
        ((uint16_t *)c.buffer[SPARSE_Q])[510] = bf16_from_f32(1);
        run(&c);
        sparse_decode(dim, c.buffer[SPARSE_CACHE], 17, value);
        assert_true(value[510] != 0 && fabs(lse(&c, 0) - value[510] / sqrt(512)) < 1e-6);
        assert_true(lse(&c, 1) == 0);
        case_close(&c);
    }
}

static void all_invalid_gives_zeros_and_infinity(void **state)
{
    (void)state;
    for (int f = 0; f < 3; f++) {
        const int64_t dim[] = {2, 1, 64, 128, 50, 64, token_bytes[f]};
        struct family_case c;
        case_open(&c, family, dim, ALL_INVALID, NULL);
        run(&c);
        for (int64_t i = 0; i < c.count[SPARSE_OUT]; i++)
            assert_true(out(&c, i) == 0);
        for (int64_t i = 0; i < c.count[SPARSE_LSE]; i++)
            assert_true(lse(&c, i) == INFINITY);
        assert_true(case_max_error(&c) == 0);
        case_close(&c);
    }
}

/* One token for all indices, equal scores: out is its values. */
static void open_one_token(struct family_case *c, const int64_t *dim)
{
    case_open(c, family, dim, RANDOM, NULL);
    memset(c->buffer[SPARSE_Q], 0, c->bytes[SPARSE_Q]);
    memset(c->buffer[SPARSE_INDICES], 0, c->bytes[SPARSE_INDICES]);
}

/* Scales of UE8M0: no zero, 0x00 is 2^-127, 0xff NaN. */
static void special_scales_and_codes_of_e4m3(void **state)
{
    (void)state;
    for (int f = 0; f < 2; f++) {
        const int64_t dim[] = {1, 1, 64, 64, 1, 1, token_bytes[f]};
        const int tile = kv_tile(sparse_format(dim));
        struct family_case c;
        open_one_token(&c, dim);
        uint8_t *const code = codes(&c), *const scale = scales(&c);
        memset(codes(&c), 0x7e, 448); /* 448, saturated */
        scale[0] = 0;
        scale[1] = 128;
        scale[2] = 107;
        run(&c);
        assert_true(out(&c, 0) == 448 * 0x1p-127 && out(&c, tile) == 896 && out(&c, 2 * tile) == 448 * 0x1p-20);
        scale[2] = 0xff; /* q = 0: the score of a NaN is NaN, and so is all of the row */
        run(&c);
        assert_true(isnan(out(&c, 0)) && isnan(out(&c, 511)) && isnan(lse(&c, 0)));
        scale[2] = 127;
        code[2 * tile + 1] = 0xff;
        run(&c);
        assert_true(isnan(out(&c, 0)) && isnan(out(&c, 2 * tile + 1)) && isnan(lse(&c, 0)));
        case_close(&c);
    }
}

/* Scales of e4m3, codes in the low and high bits of a byte. */
static void special_scales_and_codes_of_e2m1(void **state)
{
    (void)state;
    const int64_t dim[] = {1, 1, 64, 64, 1, 1, 288};
    struct family_case c;
    open_one_token(&c, dim);
    uint8_t *const scale = scales(&c);
    memset(codes(&c), 0xf1, 256); /* 0.5 and -6 */
    scale[0] = 0;
    scale[1] = 0xb8; /* -1 */
    scale[2] = 0x01; /* 2^-9 */
    scale[3] = 0x7e; /* 448 */
    run(&c);
    assert_true(out(&c, 0) == 0 && out(&c, 1) == 0 && out(&c, 16) == -0.5 && out(&c, 17) == 6);
    assert_true(out(&c, 32) == 0x1p-10 && out(&c, 33) == -6 * 0x1p-9 && out(&c, 48) == 224 && out(&c, 49) == -2688);
    scale[3] = 0x7f;
    run(&c);
    assert_true(isnan(out(&c, 0)) && isnan(out(&c, 511)) && isnan(lse(&c, 0)));
    case_close(&c);
}

/* Blocks lie a token apart; those of MODEL1 are multiples of 576 bytes. */
static void pages_are_followed(void **state)
{
    (void)state;
    const int64_t apart[] = {576 * 5, 4 * 528, 4 * 288};
    for (int f = 0; f < 3; f++) {
        const int64_t dim[] = {1, 1, 64, 64, 10, 3, token_bytes[f]};
        assert_int_equal(sparse_block_bytes(dim), apart[f]);
        assert_true(family->buffer[SPARSE_CACHE].count(dim) == 4 * (double)apart[f]);
        assert_int_equal(sparse_block_bytes(dim) % 16, 0);
    }
}

static void bad_shapes_are_refused(void **state)
{
    (void)state;
    const int64_t v32[] = {1, 1, 64, 64, 64, 64, 656}, none[] = {1, 1, 64, 64, 64, 64, 576};
    const int64_t heads[] = {1, 1, 192, 64, 64, 64, 528}, large[] = {1, 1, 64, 64, 2147483600, 64, 584};
    assert_non_null(strstr(family->shape_error(v32), "mla_decode_sparse_fp8"));
    assert_non_null(strstr(family->shape_error(none), "bytes must be 584 (MODEL1), 528 (V4.1 FP8) or 288 (V4.1 FP4)"));
    assert_string_equal(family->shape_error(heads), "h must be 64 or 128");
    assert_non_null(strstr(family->shape_error(large), "32-bit integers"));
    for (int f = 0; f < 3; f++) {
        const int64_t s_q_70000[] = {1, 70000, 128, 2048, 1024, 64, token_bytes[f]};
        assert_null(family->shape_error(s_q_70000));
        assert_true(s_q_70000[1] <= family->axis[SPARSE_S_Q].max);
    }
    assert_int_equal(family->axis[SPARSE_TOPK].min, 64); /* 0 is refused, and what is no multiple */
    assert_int_equal(family->axis[SPARSE_TOPK].multiple, 64);
}

static void refuses(struct family_case *c, const size_t *bytes, const char *expected)
{
    char message[256] = "";
    assert_int_not_equal(launch(c, bytes, message, sizeof message), 0);
    assert_string_equal(message, expected);
}

static void bad_buffers_are_refused(void **state)
{
    (void)state;
    const char *const small[] = {
        "cache: 74752 bytes: must be at least 76032, blocks of 64 tokens of 584 bytes, 38016 bytes apart, times 2",
        "cache: 67584 bytes: must be at least 68640, blocks of 64 tokens of 528 bytes, 34320 bytes apart, times 2",
        "cache: 36864 bytes: must be at least 37440, blocks of 64 tokens of 288 bytes, 18720 bytes apart, times 2"};
    for (int f = 0; f < 3; f++) {
        const int64_t dim[] = {1, 1, 64, 64, 100, 64, token_bytes[f]};
        const size_t offset[RIDGE_MAX_BUFFERS] = {[SPARSE_CACHE] = 8};
        size_t bytes[RIDGE_MAX_BUFFERS];
        struct family_case c;
        case_open(&c, family, dim, RANDOM, offset);
        refuses(&c, NULL, "cache: address is 8 bytes beyond a multiple of 16: must be one");
        case_close(&c);
        case_open(&c, family, dim, RANDOM, NULL);
        memcpy(bytes, c.bytes, sizeof bytes);
        bytes[SPARSE_CACHE] = 2 * 64 * (size_t)token_bytes[f];
        refuses(&c, bytes, small[f]);
        bytes[SPARSE_CACHE] = c.bytes[SPARSE_CACHE];
        bytes[SPARSE_INDICES] = 63 * 4;
        refuses(&c, bytes, "indices: 252 bytes: must be at least 256, b * s_q * topk of 4");
        case_close(&c);
    }
}

/* Keys and values of 512, RoPE included; e2m1 has no conversion. */
static void work_of_a_shape(void **state)
{
    (void)state;
    const double conversions[] = {448, 512, 0};
    for (int f = 0; f < 3; f++) {
        const int64_t dim[] = {128, 2, 128, 2048, 16 * 32768, 64, token_bytes[f]};
        const double tokens = 16 * 32768 * (1 - exp(-1)); /* as many indices as tokens */
        struct ridge_work work = {0};
        family->work(dim, &work);
        assert_true(work.flop_bf16 == 2.0 * 128 * 2 * 2048 * 1024 * 128);
        assert_true(work.cvt_e4m3_f16 == 256.0 * 2048 * conversions[f]);
        assert_true(
            fabs(work.bytes_hbm_read - (256.0 * 128 * 1024 + tokens * (double)token_bytes[f] + 256.0 * 2048 * 4)) < 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(indices_outside_the_cache_are_no_tokens),
        cmocka_unit_test(the_last_columns_are_key_too),
        cmocka_unit_test(all_invalid_gives_zeros_and_infinity),
        cmocka_unit_test(special_scales_and_codes_of_e4m3),
        cmocka_unit_test(special_scales_and_codes_of_e2m1),
        cmocka_unit_test(pages_are_followed),
        cmocka_unit_test(bad_shapes_are_refused),
        cmocka_unit_test(bad_buffers_are_refused),
        cmocka_unit_test(work_of_a_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

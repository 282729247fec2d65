/* SPDX-License-Identifier: Apache-2.0 */
/* The reference of mla_decode_sparse_fp8 and its host variant on cases known by hand: which indices are tokens, what
 * special scales and codes give, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kernels/mla_decode_sparse_fp8/mla_sparse.h"
#include "tests/family_case.h"

extern const struct ridge_family ridge_family_mla_decode_sparse_fp8;
extern const struct ridge_variant ridge_variant_mla_decode_sparse_fp8_h01_naive;
static const struct ridge_family *const family = &ridge_family_mla_decode_sparse_fp8;
static const struct ridge_variant *const variant = &ridge_variant_mla_decode_sparse_fp8_h01_naive;
static const struct ridge_device device = {.kind = RIDGE_HOST, .sms = 2};
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

/* Codes and scales of token 0. */
static uint8_t *token(struct family_case *c)
{
    return (uint8_t *)c->buffer[SPARSE_CACHE];
}

static void set_scale(struct family_case *c, int tile, float scale)
{
    kv_store_scale(KV_V32, token(c) + 512, tile, f32_bits(scale));
}

/* q = 0 and a token twice gives its values, and log 2. Everything that is no index of the cache counts for nothing. */
static void indices_outside_the_cache_are_no_tokens(void **state)
{
    (void)state;
    const int64_t dim[RIDGE_MAX_AXES] = {1, 1, 64, 64, 100, 7}; /* 15 pages, capacity 105 */
    const int32_t outside[] = {-1, -2, 105, 106, 1 << 20, INT32_MAX, INT32_MIN, -123456};
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

static void all_invalid_gives_zeros_and_infinity(void **state)
{
    (void)state;
    const int64_t dim[RIDGE_MAX_AXES] = {2, 1, 64, 128, 50, 64};
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

/* lse is [b,h,s_q] where q and out are [b,s_q,h]. */
static void rows_of_lse(void **state)
{
    (void)state;
    const int64_t dim[RIDGE_MAX_AXES] = {2, 3, 64, 64, 10, 4};
    assert_int_equal(sparse_lse_offset(dim, 0, 0), 0);
    assert_int_equal(sparse_lse_offset(dim, 1, 0), 1);
    assert_int_equal(sparse_lse_offset(dim, 0, 1), 3);
    assert_int_equal(sparse_lse_offset(dim, 4, 2), 64 * 3 + 2 * 3 + 1);
}

/* One token for all indices, equal scores: out is its values. */
static void open_one_token(struct family_case *c, const int64_t *dim)
{
    case_open(c, family, dim, RANDOM, NULL);
    memset(c->buffer[SPARSE_Q], 0, c->bytes[SPARSE_Q]);
    memset(c->buffer[SPARSE_INDICES], 0, c->bytes[SPARSE_INDICES]);
}

static void special_scales_and_codes(void **state)
{
    (void)state;
    const int64_t dim[RIDGE_MAX_AXES] = {1, 1, 64, 64, 1, 1};
    struct family_case c;
    open_one_token(&c, dim);
    memset(token(&c), 0x7e, 512); /* 448, saturated */
    set_scale(&c, 0, 0);
    set_scale(&c, 1, -2);
    set_scale(&c, 2, 1 / 3.0f);
    set_scale(&c, 3, 0x1p-20f);
    run(&c);
    assert_true(out(&c, 0) == 0 && out(&c, 128) == -896 && out(&c, 256) == bf16_to_f32(bf16_from_f32(448 / 3.0f)));
    assert_true(out(&c, 511) == 448 * 0x1p-20);
    /* q = 0: the score with an infinite value is NaN, and so is all of the row. */
    set_scale(&c, 3, INFINITY);
    run(&c);
    assert_true(isnan(out(&c, 0)) && isnan(out(&c, 511)) && isnan(lse(&c, 0)));
    set_scale(&c, 3, 1);
    memset(token(&c) + 300, 0x7f, 1);
    run(&c);
    assert_true(isnan(out(&c, 0)) && isnan(out(&c, 300)) && isnan(lse(&c, 0)));
    case_close(&c);
}

/* Tokens lie in blocks one token apart. */
static void pages_are_followed(void **state)
{
    (void)state;
    const int64_t dim[RIDGE_MAX_AXES] = {1, 1, 64, 64, 10, 3};
    assert_int_equal(sparse_block_bytes(dim), 4 * 656);
    assert_int_equal(sparse_capacity(dim), 12);
    assert_true(family->buffer[SPARSE_CACHE].count(dim) == 4 * 4 * 656);
    uint8_t cache[4 * 4 * 656];
    assert_ptr_equal(sparse_block(dim, cache, 5), cache + 4 * 656);
    assert_true(sparse_valid(dim, 11) && !sparse_valid(dim, 12) && !sparse_valid(dim, -1));
}

static void bad_shapes_are_refused(void **state)
{
    (void)state;
    const int64_t heads[] = {1, 1, 192, 64, 64, 64}, large[] = {1, 1, 64, 64, 2147483600, 64};
    const int64_t many[] = {1 << 16, 1 << 14, 64, 64, 64, 64}, s_q_70000[] = {1, 70000, 128, 2048, 1024, 64};
    assert_string_equal(family->shape_error(heads), "h must be 64 or 128");
    assert_non_null(strstr(family->shape_error(large), "32-bit integers"));
    assert_non_null(strstr(family->shape_error(many), "at most 2^30"));
    assert_null(family->shape_error(s_q_70000));
    assert_true(s_q_70000[1] <= family->axis[SPARSE_S_Q].max);
    assert_int_equal(family->axis[SPARSE_TOPK].min, 64); /* 0 is refused, and what is no multiple */
    assert_int_equal(family->axis[SPARSE_TOPK].multiple, 64);
}

static void bad_buffers_are_refused(void **state)
{
    (void)state;
    const int64_t dim[RIDGE_MAX_AXES] = {1, 1, 64, 64, 100, 64};
    const size_t offset[RIDGE_MAX_BUFFERS] = {[SPARSE_CACHE] = 8};
    char message[256] = "";
    struct family_case c;
    case_open(&c, family, dim, RANDOM, offset);
    assert_int_not_equal(launch(&c, NULL, message, sizeof message), 0);
    assert_string_equal(message, "cache: address is 8 bytes beyond a multiple of 16: must be one");
    case_close(&c);
    case_open(&c, family, dim, RANDOM, NULL);
    size_t bytes[RIDGE_MAX_BUFFERS];
    memcpy(bytes, c.bytes, sizeof bytes);
    bytes[SPARSE_CACHE] = 2 * 64 * 656;
    assert_int_not_equal(launch(&c, bytes, message, sizeof message), 0);
    assert_string_equal(
        message,
        "cache: 83968 bytes: must be at least 85280, blocks of 64 tokens of 656 bytes, 42640 bytes apart, times 2");
    bytes[SPARSE_CACHE] = c.bytes[SPARSE_CACHE];
    bytes[SPARSE_INDICES] = 63 * 4;
    assert_int_not_equal(launch(&c, bytes, message, sizeof message), 0);
    assert_string_equal(message, "indices: 252 bytes: must be at least 256, b * s_q * topk of 4");
    case_close(&c);
}

/* A kernel that does not test indices gets none that is no token. */
static void unchecked_indices_are_refused(void **state)
{
    (void)state;
    const int64_t dim[] = {1, 1, 64, 64, 10, 3}; /* capacity 12 */
    int32_t indices[64] = {0};
    char message[256] = "";
    const struct ridge_call call = {.dim = dim, .error = message, .error_bytes = sizeof message};
    indices[63] = 11;
    assert_int_equal(sparse_refuse_indices(&call, indices, 64), 0);
    indices[7] = 12;
    assert_int_not_equal(sparse_refuse_indices(&call, indices, 64), 0);
    assert_string_equal(message, "indices: 12 at 7 is no token: plan unchecked takes those from 0 to 11 only");
    indices[7] = -1;
    assert_int_not_equal(sparse_refuse_indices(&call, indices, 64), 0);
    assert_string_equal(message, "indices: -1 at 7 is no token: plan unchecked takes those from 0 to 11 only");
}

/* FLOP as FlashMLA's tests count. */
static void work_of_a_shape(void **state)
{
    (void)state;
    const int64_t dim[RIDGE_MAX_AXES] = {128, 2, 128, 2048, 16 * 32768, 64};
    struct ridge_work work = {0};
    family->work(dim, &work);
    assert_true(work.flop_bf16 == 2.0 * 128 * 2 * 2048 * 1088 * 128);
    assert_true(work.cvt_e4m3_f16 == 256.0 * 2048 * 512);
    const double tokens = 16 * 32768 * (1 - exp(-1)); /* as many indices as tokens */
    assert_true(fabs(work.bytes_hbm_read - (256.0 * 128 * 1152 + tokens * 656 + 256.0 * 2048 * 4)) < 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(indices_outside_the_cache_are_no_tokens),
        cmocka_unit_test(all_invalid_gives_zeros_and_infinity),
        cmocka_unit_test(rows_of_lse),
        cmocka_unit_test(special_scales_and_codes),
        cmocka_unit_test(pages_are_followed),
        cmocka_unit_test(bad_shapes_are_refused),
        cmocka_unit_test(bad_buffers_are_refused),
        cmocka_unit_test(unchecked_indices_are_refused),
        cmocka_unit_test(work_of_a_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

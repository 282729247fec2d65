/* SPDX-License-Identifier: Apache-2.0 */
/* kv_quantise and kv_dequantise: references against the encoder and decoder of one token, what they leave alone, shapes
 * that are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kernels/kv_quantise/kv_problem.h"
#include "tests/family_case.h"

extern const struct ridge_family ridge_family_kv_quantise, ridge_family_kv_dequantise;

static void formats_and_sizes(void **state)
{
    (void)state;
    assert_int_equal(kv_format_of(656), KV_V32);
    assert_int_equal(kv_format_of(584), KV_MODEL1);
    assert_int_equal(kv_format_of(528), KV_V41_FP8);
    assert_int_equal(kv_format_of(288), KV_V41_FP4);
    assert_null(ridge_family_kv_quantise.shape_error((const int64_t[]){5, 584, 2}));
    assert_non_null(ridge_family_kv_quantise.shape_error((const int64_t[]){5, 576, 2}));
    assert_non_null(ridge_family_kv_dequantise.shape_error((const int64_t[]){5, 600, 2}));
    const int64_t dim[] = {5, 584, 2};
    assert_true(kv_count_cache(dim) == 3 * 1728 && kv_count_pairs(dim) == 5 * 256);
    struct ridge_work work = {0};
    ridge_family_kv_dequantise.work(dim, &work);
    assert_true(work.bytes_hbm_read == 5 * 584 && work.bytes_hbm_write == 5 * 1024 && work.cvt_e4m3_f16 == 5 * 448);
    ridge_family_kv_quantise.work((const int64_t[]){3, 288, 2}, &work);
    assert_true(work.bytes_hbm_read == 3 * 1024 && work.bytes_hbm_write == 3 * 288);
}

/* Every token decodes to what it was, within half a step; bytes of no token keep what they held. */
static void quantise_keeps_padding(void **state)
{
    (void)state;
    for (int f = 0; f < KV_FORMATS; f++) {
        const enum kv_format format = (enum kv_format)f;
        const int64_t dim[] = {10, kv_token_bytes(format), 4};
        struct family_case c;
        case_open(&c, &ridge_family_kv_quantise, dim, 0, NULL);
        static uint8_t cache[3 * 4096];
        const uint8_t *before = c.original[1];
        const int64_t block_bytes = kv_block_bytes(format, 4), last = 2 * block_bytes;
        assert_int_equal(c.count[1], 3 * block_bytes);
        for (int64_t i = 0; i < 3 * block_bytes; i++)
            cache[i] = (uint8_t)c.ref[0][i];
        for (int token = 0; token < 10; token++) {
            float value[KV_MAX_VALUES];
            const uint16_t *x = (const uint16_t *)c.buffer[0] + token * kv_values(format);
            kv_decode(format, cache + token / 4 * block_bytes, 4, token % 4, value);
            for (int j = 0; j < kv_values(format); j++)
                assert_true(fabsf(value[j] - bf16_to_f32(x[j])) <= (j < kv_quantised(format) ? 1.0f : 0.0f));
        }
        for (int i = 2; i < 4; i++) { /* tokens that are not there */
            const int64_t codes = last + kv_token_offset(format, i), scales = last + kv_scale_offset(format, 4, i);
            assert_memory_equal(cache + codes, before + codes, (size_t)kv_code_bytes(format));
            assert_memory_equal(cache + scales, before + scales, (size_t)kv_tiles(format));
        }
        const int64_t end = last + 4 * kv_token_bytes(format); /* MODEL1: the padding of the block */
        assert_memory_equal(cache + end, before + end, (size_t)(3 * block_bytes - end));
        case_close(&c);
    }
}

static void dequantise_by_hand(void **state)
{
    (void)state;
    static uint8_t cache[656];
    static double ref[288], mag[288];
    const float half = 0.5f, huge = INFINITY;
    cache[0] = 0x38, cache[1] = 0xb8, cache[2] = 0x80, cache[3] = 0x7f; /* 1, -1, -0, NaN, times 0.5 */
    cache[384] = 0x00, cache[385] = 0xff, cache[386] = 0x38;            /* 0, NaN, 1, times infinity */
    memcpy(cache + 512, &half, 4);
    memcpy(cache + 524, &huge, 4);
    cache[528] = 0x81, cache[529] = 0x7f; /* a signalling NaN moves as it is */
    void *buffer[] = {cache, NULL};
    ridge_family_kv_dequantise.reference((const int64_t[]){1, 656, 1}, buffer, (double *[]){ref}, (double *[]){mag});
    assert_true(ref[0] == 0xbf003f00 && ref[1] == 0x7fff8000 && ref[2] == 0);
    assert_true(ref[192] == 0x7fff7fff && ref[193] == 0x7fff7f80);
    assert_true(ref[256] == 0x7f81 && ref[257] == 0 && mag[0] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(formats_and_sizes), cmocka_unit_test(quantise_keeps_padding),
                                       cmocka_unit_test(dequantise_by_hand)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

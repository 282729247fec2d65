/* SPDX-License-Identifier: Apache-2.0 */
/* Quantisers and scale layouts: codes, scales, padding and special values worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kernels/support/block_scale.h"
#include "tests/family_case.h"

extern const struct ridge_family ridge_family_quantise_1x128, ridge_family_quantise_128x128,
    ridge_family_transpose_scales, ridge_family_pack_ue8m0;

static const uint32_t nan_scale = 0x7fc00000;

static void rules_by_hand(void **state)
{
    (void)state;
    assert_true(block_scale_of(448) == 1 && block_scale_of(224) == 0.5f && block_scale_of(1e-4f) == 1e-4f / 448);
    assert_true(block_scale_of(0) == 1e-4f / 448 && block_scale_of(9e-5f) == 1e-4f / 448);
    assert_int_equal(f32_bits(block_scale_of(INFINITY)), nan_scale);
    assert_int_equal(f32_bits(block_scale_of(NAN)), nan_scale);
    assert_true(block_scale_of(3.3895e38f) >
                7e35f); /* the largest BF16: neither scale nor inverse leaves FP32's range */
    assert_int_equal(block_scale_code(3.3895e38f, 1 / block_scale_of(3.3895e38f)), 0x7e);
    assert_int_equal(block_scale_code(17, 1), 0x58);   /* a tie of 16 and 18: even */
    assert_int_equal(block_scale_code(-19, 1), 0xda);  /* a tie of 18 and 20: even */
    assert_int_equal(block_scale_code(1000, 1), 0x7e); /* saturated */
    assert_int_equal(block_scale_code(-0.0f, 1), 0x80);
    assert_int_equal(block_scale_code(-0x1p-11f, 1), 0x80); /* rounds to zero and keeps the sign */
    assert_int_equal(block_scale_code(0x1p-9f, 1), 0x01);
    assert_int_equal(block_scale_code(1, NAN), 0x7f);
    assert_int_equal(block_scale_larger(0x7f80, 0xffc0), 0x7fc0); /* a NaN is above infinity */
    assert_int_equal(block_scale_pitch(5), 8);
    assert_int_equal(block_scale_words(513), 2);
}

/* The largest value of a block becomes 448 whatever it is: amax times the rounded inverse of the rounded scale. */
static void largest_is_448(void **state)
{
    (void)state;
    for (uint32_t bits = 0x38d2; bits < 0x7f80; bits++) { /* from 1e-4 on */
        const float amax = bf16_to_f32((uint16_t)bits);
        assert_int_equal(block_scale_code(amax, 1 / block_scale_of(amax)), 0x7e);
        assert_int_equal(block_scale_code(-amax, 1 / block_scale_of(amax)), 0xfe);
    }
}

static void rows_by_hand(void **state)
{
    (void)state;
    enum { M = 3, K = 130, PITCH = 4 };
    const int64_t dim[] = {M, K};
    static uint16_t x[M * K];
    static double codes[M * K], scale[2 * PITCH], mag[2][M * K];
    for (int i = 0; i < M * K; i++)
        x[i] = bf16_from_f32((float)(i % K == 0 ? 448 : i % K % 128));
    x[128] = bf16_from_f32(-2), x[129] = bf16_from_f32(1); /* tail of row 0: scale 2 / 448 */
    x[K + 128] = x[K + 129] = 0x8000;                      /* of row 1: negative zeros */
    x[2 * K + 5] = 0xff81;                                 /* block 0 of row 2: a NaN */
    void *buffer[] = {x, NULL, NULL};
    ridge_family_quantise_1x128.reference(dim, buffer, (double *[]){codes, scale}, (double *[]){mag[0], mag[1]});
    assert_true(codes[0] == 0x7e && codes[1] == 0x38 && codes[17] == 0x58 && codes[127] == e4m3_from_f32(127));
    assert_true(codes[128] == 0xfe && codes[129] == 0x76);
    assert_true(codes[K + 128] == 0x80 && codes[K + 129] == 0x80);
    for (int i = 0; i < 128; i++)
        assert_true(codes[2 * K + i] == 0x7f);
    assert_true(codes[2 * K + 128] == 0 && codes[2 * K + 129] == 0x7e);
    const float one = 1, tail = 2 / 448.0f, least = 1e-4f / 448, second = 1 / 448.0f;
    const uint32_t expected[] = {f32_bits(one),  f32_bits(one),   nan_scale,        0,
                                 f32_bits(tail), f32_bits(least), f32_bits(second), 0};
    for (int i = 0; i < 2 * PITCH; i++)
        assert_true(scale[i] == expected[i] && mag[1][i] == 0);
}

static void tiles_by_hand(void **state)
{
    (void)state;
    enum { N = 129, K = 136 };
    const int64_t dim[] = {N, K};
    static uint16_t x[N * K];
    static double codes[N * K], scale[4], mag[2][N * K];
    x[100 * K + 3] = bf16_from_f32(-448), x[0] = bf16_from_f32(2);
    x[5 * K + 128] = bf16_from_f32(224), x[6 * K + 135] = bf16_from_f32(1);
    x[128 * K + 127] = 0x7f80; /* an infinity */
    void *buffer[] = {x, NULL, NULL};
    ridge_family_quantise_128x128.reference(dim, buffer, (double *[]){codes, scale}, (double *[]){mag[0], mag[1]});
    const uint32_t expected[] = {f32_bits(1), f32_bits(0.5f), nan_scale, f32_bits(1e-4f / 448)};
    for (int i = 0; i < 4; i++)
        assert_true(scale[i] == expected[i]);
    assert_true(codes[100 * K + 3] == 0xfe && codes[0] == 0x40 && codes[1] == 0);
    assert_true(codes[5 * K + 128] == 0x7e && codes[6 * K + 135] == 0x40);
    assert_true(codes[128 * K] == 0x7f && codes[128 * K + 127] == 0x7f && codes[128 * K + 128] == 0);
}

static void layouts_by_hand(void **state)
{
    (void)state;
    const int64_t dim[] = {3, 5 * 128};
    float in[15];
    double out[5 * 4], words[2 * 4], mag[5 * 4];
    for (int i = 0; i < 15; i++)
        in[i] = ldexpf(1, i - 4);
    in[1] = 1.0000001f, in[2] = 0, in[3] = NAN, in[14] = -3;
    void *buffer[] = {in, NULL};
    ridge_family_transpose_scales.reference(dim, buffer, (double *[]){out}, (double *[]){mag});
    ridge_family_pack_ue8m0.reference(dim, buffer, (double *[]){words}, (double *[]){mag});
    for (int block = 0; block < 5; block++)
        for (int row = 0; row < 4; row++)
            assert_true(out[block * 4 + row] == (row < 3 ? f32_bits(in[row * 5 + block]) : 0));
    const uint32_t expected[] = {0xff00807b, 0x83828180, 0x88878685, 0, 0x7f, 0x84, 0x81, 0};
    for (int i = 0; i < 8; i++)
        assert_true(words[i] == expected[i]);
}

static void hard_inputs_are_hard(void **state)
{
    (void)state;
    const int64_t dim[] = {130, 512};
    const int scales = 4 * 132;
    for (int hard = 1; block_scale_cases[hard - 1]; hard++) {
        struct family_case c;
        int64_t least = 0, nan = 0, one = 0;
        case_open(&c, &ridge_family_quantise_1x128, dim, hard, NULL);
        for (int i = 0; i < scales; i++) {
            least += c.ref[1][i] == f32_bits(1e-4f / 448);
            nan += c.ref[1][i] == nan_scale;
            one += c.ref[1][i] == f32_bits(1);
        }
        const char *name = block_scale_cases[hard - 1];
        assert_true(strcmp(name, "zeros") || (least == 4 * 130 / 2 && nan == 0));
        assert_true(strcmp(name, "bits") || (nan > scales / 4 && nan < scales / 2));
        assert_true(strcmp(name, "clamp") || (least > scales / 10 && least < scales - scales / 10));
        assert_true(strcmp(name, "ties") || one == 4 * 130);
        case_close(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_by_hand), cmocka_unit_test(largest_is_448),  cmocka_unit_test(rows_by_hand),
        cmocka_unit_test(tiles_by_hand), cmocka_unit_test(layouts_by_hand), cmocka_unit_test(hard_inputs_are_hard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

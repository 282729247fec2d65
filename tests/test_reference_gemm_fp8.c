/* SPDX-License-Identifier: Apache-2.0 */
/* The FP8 GEMM references against sums known by hand, their scales and their hard inputs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/family_case.h"

extern const struct ridge_family ridge_family_gemm_fp8_tensor, ridge_family_gemm_fp8_block;

/* Ones times ones: 128 products of the first block of k and two of the second, each times its own scales. */
static void block_scales_by_hand(void **state)
{
    (void)state;
    enum { M = 2, N = 130, K = 130, PITCH = 4 };
    const int64_t dim[] = {M, N, K};
    static uint8_t a[M * K], b[N * K];
    memset(a, e4m3_from_f32(1), sizeof a);
    memset(b, e4m3_from_f32(-1), sizeof b);
    const float scale_a[2 * PITCH] = {1, 2, NAN, NAN, 4, 8, NAN, NAN}, scale_b[] = {1, 16, 32, 64};
    static double d[M * N], mag[M * N];
    void *buffer[] = {a, b, (void *)scale_a, (void *)scale_b, NULL};
    ridge_family_gemm_fp8_block.reference(dim, buffer, (double *[]){d}, (double *[]){mag});
    for (int row = 0; row < M; row++)
        for (int column = 0; column < N; column++) {
            const float *block = scale_b + column / 128 * 2;
            const double sum = 128 * scale_a[row] * block[0] + 2 * scale_a[PITCH + row] * block[1];
            assert_true(d[row * N + column] == -sum && mag[row * N + column] == sum);
        }
}

static void tensor_scales_by_hand(void **state)
{
    (void)state;
    const int64_t dim[] = {2, 2, 2};
    const float values[] = {1, 2, -3, 4, 5, -6, 7, 8}, scale_a = 0.5f, scale_b = 0.25f;
    uint8_t x[8];
    double d[4], mag[4];
    for (int i = 0; i < 8; i++)
        x[i] = e4m3_from_f32(values[i]);
    void *buffer[] = {x, x + 4, (void *)&scale_a, (void *)&scale_b, NULL};
    ridge_family_gemm_fp8_tensor.reference(dim, buffer, (double *[]){d}, (double *[]){mag});
    const double expected[] = {-7, 23, -39, 11}, magnitudes[] = {17, 23, 39, 53};
    for (int i = 0; i < 4; i++)
        assert_true(d[i] == expected[i] / 8 && mag[i] == magnitudes[i] / 8);
}

static void scales_vary_and_padding_is_nan(void **state)
{
    (void)state;
    const int64_t dim[] = {5, 130, 300};
    struct family_case c;
    case_open(&c, &ridge_family_gemm_fp8_block, dim, 0, NULL);
    const float *scale_a = c.buffer[2], *scale_b = c.buffer[3];
    assert_int_equal(c.count[2], 3 * 8);
    assert_int_equal(c.count[3], 2 * 3);
    for (int i = 0; i < 24; i++)
        assert_true(i % 8 < 5 ? scale_a[i] >= 0.25f && scale_a[i] <= 4 : isnan(scale_a[i]));
    for (int i = 1; i < 6; i++)
        assert_true(scale_b[i] != scale_b[i - 1] && scale_b[i] >= 0.25f && scale_b[i] <= 4);
    for (int64_t i = 0; i < c.count[4]; i++)
        assert_true(isfinite(c.ref[0][i]) && c.mag[0][i] > 0);
    case_close(&c);
}

static double sum(const double *x, int64_t n)
{
    double total = 0;
    for (int64_t i = 0; i < n; i++)
        total += fabs(x[i]);
    return total;
}

static void hard_inputs_are_hard(void **state)
{
    (void)state;
    const struct ridge_family *const families[] = {&ridge_family_gemm_fp8_tensor, &ridge_family_gemm_fp8_block};
    const int64_t dim[] = {40, 50, 256};
    for (int f = 0; f < 2; f++) {
        struct family_case c;
        case_open(&c, families[f], dim, 1, NULL);
        assert_string_equal(families[f]->cases[0], "cancelling");
        assert_true(sum(c.ref[0], c.count[4]) < 0x1p-6 * sum(c.mag[0], c.count[4]));
        assert_true(sum(c.ref[0], c.count[4]) > 0);
        case_close(&c);
        case_open(&c, families[f], dim, 2, NULL);
        assert_string_equal(families[f]->cases[1], "outliers");
        int64_t large = 0;
        for (int64_t i = 0; i < c.count[0]; i++)
            large += fabsf(e4m3_to_f32(((const uint8_t *)c.buffer[0])[i])) > 6;
        assert_true(large > c.count[0] / 128 && large < c.count[0] / 32);
        case_close(&c);
    }
}

static void work_counts_scales_and_promotion(void **state)
{
    (void)state;
    const int64_t dim[] = {5, 8, 160};
    struct ridge_work tensor = {0}, block = {0};
    ridge_family_gemm_fp8_tensor.work(dim, &tensor);
    ridge_family_gemm_fp8_block.work(dim, &block);
    assert_true(tensor.flop_fp8 == 2 * 5 * 8 * 160 && tensor.flop_fp32 == 0);
    assert_true(tensor.bytes_hbm_read == 13 * 160 + 8 && tensor.bytes_hbm_write == 80);
    assert_true(block.flop_fp8 == tensor.flop_fp8 && block.flop_fp32 == 2 * 5 * 8 * 2);
    assert_true(block.bytes_hbm_read == 13 * 160 + 4 * (2 * 8 + 2) && block.bytes_hbm_write == 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(block_scales_by_hand),
        cmocka_unit_test(tensor_scales_by_hand),
        cmocka_unit_test(scales_vary_and_padding_is_nan),
        cmocka_unit_test(hard_inputs_are_hard),
        cmocka_unit_test(work_counts_scales_and_promotion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

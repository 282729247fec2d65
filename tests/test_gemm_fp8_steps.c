/* SPDX-License-Identifier: Apache-2.0 */
/* The model of the tensor cores' FP8 accumulator, what it says of promotion on the inputs of gemm_fp8_block_steps, and
 * the references of the families beside gemm_fp8_block. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kernels/support/fp8_accumulator.h"
#include "tests/family_case.h"

extern const struct ridge_family ridge_family_gemm_fp8_block, ridge_family_gemm_fp8_block_steps,
    ridge_family_gemm_fp8_chain;

static void cuts_off_towards_zero(void **state)
{
    (void)state;
    const float a[] = {64, 1, -1, 0x1p-8f}, b[] = {128, 1.5f, 1.5f, 1};
    assert_true(fp8_accumulate(0, a, b, 1) == 8192);
    assert_true(fp8_accumulate(0, a, b, 2) == 8193);
    assert_true(fp8_accumulate(0, a, b, 3) == 8192);
    assert_true(fp8_accumulate(-8192.0, a + 1, b + 1, 1) == -8191);
    assert_true(fp8_accumulate(16384.0, a + 1, b + 1, 2) == 16384);
    assert_true(fp8_accumulate(0, a + 3, b + 3, 1) == 0x1p-8);
    assert_true(fp8_accumulate(0, (const float[]){0}, b, 1) == 0);
}

/* From 2^14 on a unit is 2, and adding ones does nothing. */
static void sums_of_ones_stop(void **state)
{
    (void)state;
    enum { K = 32768 };
    static float ones[K];
    for (int i = 0; i < K; i++)
        ones[i] = 1;
    assert_true(fp8_accumulated_dot(ones, ones, 16384, 0) == 16384);
    assert_true(fp8_accumulated_dot(ones, ones, K, 0) == 16384);
    assert_true(fp8_accumulated_dot(ones, ones, K, 128) == K);
    assert_true(fp8_accumulated_dot(ones, ones, 100, 32) == 100);
}

static const int intervals[] = {32, 64, 128, 256, 0};
enum { INTERVALS = 5 };

/* Root mean square error of every interval over that of the results, rounded to BF16. */
static void relative_errors(int64_t k, double relative[INTERVALS])
{
    const int64_t dim[] = {8, 128, k};
    struct family_case c;
    case_open(&c, &ridge_family_gemm_fp8_block_steps, dim, 0, NULL);
    float *rows[2];
    for (int i = 0; i < 2; i++) {
        rows[i] = case_alloc((size_t)c.count[i] * sizeof(float));
        for (int64_t j = 0; j < c.count[i]; j++)
            rows[i][j] = e4m3_to_f32(((const uint8_t *)c.buffer[i])[j]);
    }
    const float *scale_a = c.buffer[2], *scale_b = c.buffer[3];
    for (int interval = 0; interval < INTERVALS; interval++) {
        double error = 0, result = 0;
        for (int64_t i = 0; i < c.count[4]; i++) {
            const float sum =
                fp8_accumulated_dot(rows[0] + i / dim[1] * k, rows[1] + i % dim[1] * k, k, intervals[interval]);
            const float d = sum * (scale_a[i / dim[1]] * scale_b[0]);
            error += pow(bf16_to_f32(bf16_from_f32(d)) - c.ref[0][i], 2);
            result += pow(c.ref[0][i], 2);
        }
        relative[interval] = sqrt(error / result);
    }
    free(rows[0]);
    free(rows[1]);
    case_close(&c);
}

static void error_grows_with_the_interval(void **state)
{
    (void)state;
    static const int64_t k[] = {2048, 7168, 16384};
    static const double never[] = {0.04, 0.15, 0.3};
    print_message("relative RMS error, %%, promoted every\n%8s%8s%8s%8s%8s%8s\n", "k", "32", "64", "128", "256",
                  "never");
    for (int i = 0; i < 3; i++) {
        double e[INTERVALS];
        relative_errors(k[i], e);
        print_message("%8d%8.2f%8.2f%8.2f%8.2f%8.1f\n", (int)k[i], 100 * e[0], 100 * e[1], 100 * e[2], 100 * e[3],
                      100 * e[4]);
        assert_true(e[0] > 0.001 && e[0] < 0.002); /* BF16's rounding alone */
        assert_true(e[1] < 1.2 * e[0]);
        assert_true(e[2] > 1.3 * e[0] && e[2] < 2.5 * e[0]);
        assert_true(e[3] > 2 * e[2]);
        assert_true(e[4] > never[i]);
    }
}

/* Sums over several blocks may be scaled once. */
static void scales_are_constant_along_k(void **state)
{
    (void)state;
    enum { PITCH = 8, BLOCKS = 3 };
    const int64_t dim[] = {5, 130, 300};
    struct family_case c;
    case_open(&c, &ridge_family_gemm_fp8_block_steps, dim, 0, NULL);
    const float *scale_a = c.buffer[2], *scale_b = c.buffer[3];
    for (int i = 0; i < BLOCKS * PITCH; i++)
        assert_true(i % PITCH < 5 ? scale_a[i] == scale_a[i % PITCH] && scale_a[i] >= 0.25f : isnan(scale_a[i]));
    assert_true(scale_a[0] != scale_a[1] && scale_b[0] != scale_b[BLOCKS]);
    for (int i = 0; i < 2 * BLOCKS; i++)
        assert_true(scale_b[i] == scale_b[i / BLOCKS * BLOCKS]);
    case_close(&c);
}

static void sums_rise_and_fall(void **state)
{
    (void)state;
    const int64_t k = 2048, dim[] = {4, 4, k};
    struct family_case c;
    case_open(&c, &ridge_family_gemm_fp8_block_steps, dim, 0, NULL);
    const uint8_t *a = c.buffer[0], *b = c.buffer[1];
    for (int64_t i = 0; i < 16; i++) {
        double half = 0;
        for (int64_t j = 0; j < k / 2; j++)
            half += (double)e4m3_to_f32(a[i / 4 * k + j]) * e4m3_to_f32(b[i % 4 * k + j]);
        assert_true(half > 0.9 * k / 2 && half < 1.1 * k / 2);
        assert_true(fabs(c.ref[0][i]) < 0.1 * c.mag[0][i]);
    }
    case_close(&c);
}

/* Ones times weights of its own for each product. */
static void links_have_their_own_weights(void **state)
{
    (void)state;
    enum { M = 2, N = 130, K = 130, PITCH = 4 };
    const int64_t dim[] = {M, N, K};
    static uint8_t a[M * K], b1[N * K], b2[N * K];
    memset(a, e4m3_from_f32(1), sizeof a);
    memset(b1, e4m3_from_f32(-1), sizeof b1);
    memset(b2, e4m3_from_f32(2), sizeof b2);
    const float scale_a[2 * PITCH] = {1, 2, NAN, NAN, 4, 8, NAN, NAN};
    const float scale_b1[] = {1, 16, 32, 64}, scale_b2[] = {2, 0.5f, 8, 4};
    static double d[2][M * N], mag[2][M * N];
    void *buffer[] = {a, b1, (void *)scale_a, (void *)scale_b1, NULL, b2, (void *)scale_b2, NULL};
    ridge_family_gemm_fp8_chain.reference(dim, buffer, (double *[]){d[0], d[1]}, (double *[]){mag[0], mag[1]});
    for (int row = 0; row < M; row++)
        for (int column = 0; column < N; column++) {
            const float *block1 = scale_b1 + column / 128 * 2, *block2 = scale_b2 + column / 128 * 2;
            const double sum1 = 128 * scale_a[row] * block1[0] + 2 * scale_a[PITCH + row] * block1[1];
            const double sum2 = 128 * scale_a[row] * block2[0] + 2 * scale_a[PITCH + row] * block2[1];
            assert_true(d[0][row * N + column] == -sum1 && mag[0][row * N + column] == sum1);
            assert_true(d[1][row * N + column] == 2 * sum2 && mag[1][row * N + column] == 2 * sum2);
        }
}

static void chain_work_counts_a_once(void **state)
{
    (void)state;
    const int64_t dim[] = {5, 8, 160};
    struct ridge_work one = {0}, chain = {0};
    ridge_family_gemm_fp8_block.work(dim, &one);
    ridge_family_gemm_fp8_chain.work(dim, &chain);
    assert_true(chain.flop_fp8 == 2 * one.flop_fp8 && chain.flop_fp32 == 2 * one.flop_fp32);
    assert_true(chain.bytes_hbm_read == one.bytes_hbm_read + 8 * 160 + 4 * 2);
    assert_true(chain.bytes_hbm_write == 2 * one.bytes_hbm_write && chain.launches == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuts_off_towards_zero),
        cmocka_unit_test(sums_of_ones_stop),
        cmocka_unit_test(error_grows_with_the_interval),
        cmocka_unit_test(scales_are_constant_along_k),
        cmocka_unit_test(sums_rise_and_fall),
        cmocka_unit_test(links_have_their_own_weights),
        cmocka_unit_test(chain_work_counts_a_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

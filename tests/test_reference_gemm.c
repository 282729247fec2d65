/* SPDX-License-Identifier: Apache-2.0 */
/* The GEMM references against results known without computing sums, and their hard inputs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/family_case.h"

extern const struct ridge_family ridge_family_gemm_f32, ridge_family_gemm_bf16;

static void small_product_by_hand(void **state)
{
    (void)state;
    const int64_t dim[] = {2, 2, 3};
    float a[] = {1, 2, 3, -4, 5, 6}, b[] = {7, -8, 9, 10, 11, -12};
    double d[4], mag[4];
    void *buffer[] = {a, b, NULL};
    ridge_family_gemm_f32.reference(dim, buffer, (double *[]){d}, (double *[]){mag});
    const double expected[] = {18, -4, -14, -57}, magnitudes[] = {50, 68, 122, 167};
    for (int i = 0; i < 4; i++) {
        assert_true(d[i] == expected[i]);
        assert_true(mag[i] == magnitudes[i]);
    }
}

/* A times the identity is A; sizes cross the reference's tiles of 64. */
static void identity(void **state)
{
    (void)state;
    enum { M = 70, K = 130 };
    const int64_t dim[] = {M, K, K};
    static float a[M * K], b[K * K];
    static uint16_t a16[M * K], b16[K * K];
    static double d[M * K], mag[M * K];
    for (int i = 0; i < M * K; i++) {
        a[i] = fill_normal(1, (uint64_t)i, 1);
        a16[i] = bf16_from_f32(a[i]);
    }
    for (int i = 0; i < K; i++) {
        b[i * K + i] = 1;
        b16[i * K + i] = bf16_from_f32(1);
    }
    ridge_family_gemm_f32.reference(dim, (void *[]){a, b, NULL}, (double *[]){d}, (double *[]){mag});
    for (int i = 0; i < M * K; i++)
        assert_true(d[i] == a[i] && mag[i] == fabs(a[i]));
    ridge_family_gemm_bf16.reference(dim, (void *[]){a16, b16, NULL}, (double *[]){d}, (double *[]){mag});
    for (int i = 0; i < M * K; i++)
        assert_true(d[i] == bf16_to_f32(a16[i]) && mag[i] == fabs(d[i]));
}

/* Rows (i, 1) times columns (1, j): D[i][j] = i + j, which tells rows from columns. */
static void rows_and_columns(void **state)
{
    (void)state;
    enum { M = 67, N = 131 };
    const int64_t dim[] = {M, N, 2};
    static float a[M * 2], b[N * 2];
    static double d[M * N], mag[M * N];
    for (int i = 0; i < M; i++) {
        a[2 * i] = (float)i;
        a[2 * i + 1] = 1;
    }
    for (int j = 0; j < N; j++) {
        b[2 * j] = 1;
        b[2 * j + 1] = (float)j;
    }
    ridge_family_gemm_f32.reference(dim, (void *[]){a, b, NULL}, (double *[]){d}, (double *[]){mag});
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            assert_true(d[i * N + j] == i + j && mag[i * N + j] == i + j);
}

static void nan_stays(void **state)
{
    (void)state;
    const int64_t dim[] = {2, 1, 2};
    float a[] = {1, NAN, 1, 1}, b[] = {1, 1};
    double d[2], mag[2];
    ridge_family_gemm_f32.reference(dim, (void *[]){a, b, NULL}, (double *[]){d}, (double *[]){mag});
    assert_true(isnan(d[0]) && isnan(mag[0]));
    assert_true(d[1] == 2);
}

static double sum(const double *x, int64_t n)
{
    double total = 0;
    for (int64_t i = 0; i < n; i++)
        total += fabs(x[i]);
    return total;
}

/* The cancelling case leaves a result that is tiny beside the sum of products; outliers are there, but few. */
static void hard_inputs_are_hard(void **state)
{
    (void)state;
    const struct ridge_family *const families[] = {&ridge_family_gemm_f32, &ridge_family_gemm_bf16};
    const double residue[] = {0x1p-10, 0x1p-7};
    const int64_t dim[] = {40, 50, 256};
    for (int f = 0; f < 2; f++) {
        assert_string_equal(families[f]->cases[0], "cancelling");
        assert_string_equal(families[f]->cases[1], "outliers");
        struct family_case c;
        case_open(&c, families[f], dim, 1, NULL);
        assert_true(sum(c.ref[0], c.count[2]) < residue[f] * sum(c.mag[0], c.count[2]));
        assert_true(sum(c.ref[0], c.count[2]) > 0);
        case_close(&c);
        case_open(&c, families[f], dim, 2, NULL);
        for (int operand = 0; operand < 2; operand++) {
            int64_t large = 0;
            for (int64_t i = 0; i < c.count[operand]; i++)
                large += fabs(case_value(c.buffer[operand], families[f]->buffer[operand].dtype, i)) > 50;
            assert_true(large > c.count[operand] / 128 && large < c.count[operand] / 32);
        }
        case_close(&c);
    }
}

/* A kernel that rounds its operands to TF32 (10 bits) or its sums to BF16 must not pass as FP32. */
static void tolerance_refuses_lower_precision(void **state)
{
    (void)state;
    const int64_t dim[] = {64, 64, 512};
    struct family_case c;
    case_open(&c, &ridge_family_gemm_f32, dim, 0, NULL);
    float *a = c.buffer[0], *b = c.buffer[1], *d = c.buffer[2];
    for (int operand = 0; operand < 2; operand++)
        for (int64_t i = 0; i < c.count[operand]; i++) {
            float *x = operand == 0 ? a + i : b + i;
            *x = f32_from_bits((f32_bits(*x) + 0x1000) & 0xffffe000);
        }
    for (int64_t i = 0; i < 64; i++)
        for (int64_t j = 0; j < 64; j++) {
            double total = 0;
            for (int64_t l = 0; l < 512; l++)
                total += (double)a[i * 512 + l] * b[j * 512 + l];
            d[i * 64 + j] = (float)total;
        }
    const double error = case_max_error(&c);
    assert_true(error > 2);
    case_close(&c);
}

static void work_counts_compulsory_bytes(void **state)
{
    (void)state;
    const int64_t dim[] = {4, 8, 16};
    struct ridge_work f32 = {0}, bf16 = {0};
    ridge_family_gemm_f32.work(dim, &f32);
    ridge_family_gemm_bf16.work(dim, &bf16);
    assert_true(f32.flop_fp32 == 1024 && f32.flop_bf16 == 0);
    assert_true(f32.bytes_hbm_read == 4 * (64 + 128) && f32.bytes_hbm_write == 4 * 32);
    assert_true(bf16.flop_bf16 == 1024 && bf16.flop_fp32 == 0);
    assert_true(bf16.bytes_hbm_read == 2 * (64 + 128) && bf16.bytes_hbm_write == 2 * 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_product_by_hand),
        cmocka_unit_test(identity),
        cmocka_unit_test(rows_and_columns),
        cmocka_unit_test(nan_stays),
        cmocka_unit_test(hard_inputs_are_hard),
        cmocka_unit_test(tolerance_refuses_lower_precision),
        cmocka_unit_test(work_counts_compulsory_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The weight-gradient families: references against sums known by hand, groups along k and what is refused of them, hard
 * inputs, the transposition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kernels/gemm_fp8_block_1d1d/gemm_fp8_block_1d1d.h"
#include "kernels/gemm_grouped_k/gemm_grouped_k.h"
#include "tests/family_case.h"

extern const struct ridge_family ridge_family_gemm_fp8_block_1d1d, ridge_family_gemm_grouped_k,
    ridge_family_transpose_e4m3;

/* Ones times minus ones: 128 products of the first block of k and two of the second, each times both its scales. */
static void both_operands_are_scaled_by_row(void **state)
{
    (void)state;
    enum { M = 2, N = 3, K = 130, PITCH = 4 };
    const int64_t dim[] = {M, N, K};
    static uint8_t a[M * K], b[N * K];
    memset(a, e4m3_from_f32(1), sizeof a);
    memset(b, e4m3_from_f32(-1), sizeof b);
    const float scale_a[2 * PITCH] = {1, 2, NAN, NAN, 4, 8, NAN, NAN},
                            scale_b[2 * PITCH] = {1, 16, 32, NAN, 3, 5, 7, NAN};
    float d[M * N] = {100, 200, 300, 400, 500, 600};
    double ref[M * N], mag[M * N];
    void *buffer[] = {a, b, (void *)scale_a, (void *)scale_b, d};
    ridge_family_gemm_fp8_block_1d1d.reference(dim, buffer, (double *[]){ref}, (double *[]){mag});
    for (int row = 0; row < M; row++)
        for (int column = 0; column < N; column++) {
            const double sum =
                128 * scale_a[row] * scale_b[column] + 2 * scale_a[PITCH + row] * scale_b[PITCH + column];
            assert_true(ref[row * N + column] == d[row * N + column] - sum && mag[row * N + column] == sum);
        }
}

/* Group 0 has one block of k, group 1 none, group 2 two; one row and one column each. */
static void groups_lie_one_behind_the_other(void **state)
{
    (void)state;
    const int64_t dim[] = {3, 1, 1, 384};
    uint8_t a[384], b[384];
    for (int i = 0; i < 384; i++) {
        a[i] = e4m3_from_f32(i < 128 ? 1 : 2);
        b[i] = e4m3_from_f32(i < 256 ? 1 : 4);
    }
    const float scale_a[12] = {1, NAN, NAN, NAN, 2, NAN, NAN, NAN, 4, NAN, NAN, NAN};
    const float scale_b[12] = {3, NAN, NAN, NAN, 5, NAN, NAN, NAN, 7, NAN, NAN, NAN};
    const int32_t ks[] = {128, 0, 256};
    float d[] = {10, 20, 30};
    double ref[3], mag[3];
    void *buffer[] = {a, b, (void *)scale_a, (void *)scale_b, (void *)ks, d};
    ridge_family_gemm_grouped_k.reference(dim, buffer, (double *[]){ref}, (double *[]){mag});
    assert_true(ref[0] == 10 + 128 * 3 && mag[0] == 128 * 3);
    assert_true(ref[1] == 20 && mag[1] == 0);
    assert_true(ref[2] == 30 + 128 * 2 * 10 + 128 * 8 * 28 && mag[2] == ref[2] - 30);
}

static void bad_groups_are_named(void **state)
{
    (void)state;
    char text[200];
    assert_true(grouped_k_allowed((const int32_t[]){128, 0, 256}, 3, 384, text, sizeof text));
    assert_true(grouped_k_allowed((const int32_t[]){128, 0, 256}, 3, 512, text, sizeof text));
    assert_false(grouped_k_allowed((const int32_t[]){128, -128, 256}, 3, 384, text, sizeof text));
    assert_string_equal(text, "ks[1] = -128: a group's k is at least 0");
    assert_false(grouped_k_allowed((const int32_t[]){128, 64}, 2, 384, text, sizeof text));
    assert_string_equal(text, "ks[1] = 64: a group's k is a multiple of 128, the length of a block of scales");
    assert_false(grouped_k_allowed((const int32_t[]){256, 256}, 2, 384, text, sizeof text));
    assert_string_equal(text, "ks[1] = 256: with it the groups' k add up to 512, more than k = 384");
    assert_false(
        grouped_k_allowed((const int32_t[]){INT32_MAX - 127, INT32_MAX - 127}, 2, INT32_MAX, text, sizeof text));
}

static void too_few_scales_are_named(void **state)
{
    (void)state;
    char text[200] = "";
    size_t bytes[] = {0, 0, 3 * 8 * sizeof(float), 3 * 4 * sizeof(float)};
    struct ridge_call call = {.buffer_bytes = bytes, .error = text, .error_bytes = sizeof text};
    assert_int_equal(gemm_1d1d_scales_refused(&call, 7, 4, 300), 0);
    assert_int_not_equal(gemm_1d1d_scales_refused(&call, 7, 5, 300), 0);
    assert_string_equal(text, "scale_b: 1 rows of 8 scales, but k=300 needs 3, one for each 128 of it");
    assert_int_not_equal(gemm_1d1d_scales_refused(&call, 7, 4, 385), 0);
    assert_string_equal(text, "scale_a: 3 rows of 8 scales, but k=385 needs 4, one for each 128 of it");
}

static int64_t sum_ks(const struct family_case *c)
{
    int64_t sum = 0;
    for (int64_t g = 0; g < c->dim[GROUPED_K_GROUPS]; g++)
        sum += ((const int32_t *)c->buffer[GROUPED_K_KS])[g];
    return sum;
}

static void hard_groups_are_hard(void **state)
{
    (void)state;
    const int64_t dim[] = {5, 6, 7, 1280};
    const struct ridge_family *family = &ridge_family_gemm_grouped_k;
    for (int hard = 0; hard == 0 || family->cases[hard - 1]; hard++) {
        const char *name = hard ? family->cases[hard - 1] : "random";
        struct family_case c;
        char text[200];
        case_open(&c, family, dim, hard, NULL);
        const int32_t *ks = c.buffer[GROUPED_K_KS];
        const bool slack = strcmp(name, "slack") == 0, infinite = strcmp(name, "infinite_neighbours") == 0;
        assert_true(grouped_k_allowed(ks, 5, 1280, text, sizeof text));
        assert_int_equal(sum_ks(&c), slack ? 896 : 1280);
        if (strcmp(name, "one_group") == 0)
            assert_int_equal(ks[2], 1280);
        if (strcmp(name, "empty_groups") == 0)
            assert_true(ks[0] == 0 && ks[1] > 0 && ks[2] == 0 && ks[3] > 0 && ks[4] == 0);
        for (int64_t i = 0; i < c.count[GROUPED_K_D]; i++)
            assert_true(infinite && i / 42 % 2 ? isinf(c.ref[0][i]) && c.ref[0][i] > 0 : isfinite(c.ref[0][i]));
        if (slack)
            assert_true(isnan(e4m3_to_f32(((const uint8_t *)c.buffer[GROUPED_K_A])[6 * 896])) &&
                        isnan(((const float *)c.buffer[GROUPED_K_SCALE_B])[7 * 8]));
        case_close(&c);
    }
}

static void transposed_group_by_group(void **state)
{
    (void)state;
    const int64_t dim[] = {3, 2, 384};
    struct family_case c;
    case_open(&c, &ridge_family_transpose_e4m3, dim, 2, NULL);
    const uint8_t *x = c.buffer[0];
    assert_string_equal(ridge_family_transpose_e4m3.cases[1], "empty_groups");
    assert_int_equal(((const int32_t *)c.buffer[1])[1], 384);
    for (int i = 0; i < 384; i++)
        assert_true(c.ref[0][i] == x[2 * i] && c.ref[0][384 + i] == x[2 * i + 1]);
    case_close(&c);
}

static void work_counts_d_twice(void **state)
{
    (void)state;
    const int64_t dim[] = {5, 8, 160}, grouped[] = {3, 5, 8, 256};
    struct ridge_work one = {0}, all = {0};
    ridge_family_gemm_fp8_block_1d1d.work(dim, &one);
    ridge_family_gemm_grouped_k.work(grouped, &all);
    assert_true(one.flop_fp8 == 2 * 5 * 8 * 160 && one.flop_fp32 == 4 * 5 * 8 * 2);
    assert_true(one.bytes_hbm_read == 13 * 160 + 4 * (2 * (8 + 8) + 40) && one.bytes_hbm_write == 4 * 40);
    assert_true(all.flop_fp8 == 2 * 5 * 8 * 256 && all.flop_fp32 == 4 * 5 * 8 * 2);
    assert_true(all.bytes_hbm_read == 13 * 256 + 4 * (2 * (8 + 8) + 3 + 120) && all.bytes_hbm_write == 4 * 120);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_operands_are_scaled_by_row),
        cmocka_unit_test(groups_lie_one_behind_the_other),
        cmocka_unit_test(bad_groups_are_named),
        cmocka_unit_test(too_few_scales_are_named),
        cmocka_unit_test(hard_groups_are_hard),
        cmocka_unit_test(transposed_group_by_group),
        cmocka_unit_test(work_counts_d_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

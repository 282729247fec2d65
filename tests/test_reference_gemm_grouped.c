/* SPDX-License-Identifier: Apache-2.0 */
/* The grouped GEMM families: layouts of groups, references against sums known by hand, bad indices, work. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/family_case.h"

#include "kernels/gemm_grouped_contiguous/gemm_grouped_contiguous.h"
#include "kernels/gemm_grouped_masked/gemm_grouped_masked.h"

extern const struct ridge_family ridge_family_gemm_grouped_contiguous, ridge_family_gemm_grouped_masked;

static int hard_case(const struct ridge_family *family, const char *name)
{
    for (int i = 0; family->cases[i]; i++)
        if (strcmp(family->cases[i], name) == 0)
            return i + 1;
    fail_msg("no case %s", name);
    return 0;
}

static int64_t count_equal(const int32_t *index, int64_t count, int32_t value)
{
    int64_t equal = 0;
    for (int64_t i = 0; i < count; i++)
        equal += index[i] == value;
    return equal;
}

/* Row r of A is r + 1, B of group g is 2^g, scales are 1 but for the second group's of B, 8. */
static void contiguous_by_hand(void **state)
{
    (void)state;
    enum { M = 5, N = 2, K = 3, PITCH = 8 };
    const int64_t dim[] = {2, 2, M, N, K};
    const int32_t group[M] = {1, 0, -1, 1, 2};
    const float scale_a[PITCH] = {1, 1, NAN, 1, NAN, NAN, NAN, NAN}, scale_b[] = {1, 8};
    uint8_t a[M * K], b[2 * N * K];
    double d[M * N], mag[M * N];
    for (int i = 0; i < M * K; i++)
        a[i] = i / K == 2 ? GROUPED_NAN_E4M3 : e4m3_from_f32((float)(i / K + 1));
    for (int i = 0; i < 2 * N * K; i++)
        b[i] = e4m3_from_f32(i < N * K ? -1 : 2);
    void *buffer[] = {a, b, (void *)scale_a, (void *)scale_b, (void *)group, NULL};
    ridge_family_gemm_grouped_contiguous.reference(dim, buffer, (double *[]){d}, (double *[]){mag});
    const double expected[M] = {1 * 3 * 2 * 8, -2 * 3, 0, 4 * 3 * 2 * 8, 0};
    for (int i = 0; i < M * N; i++)
        assert_true(d[i] == expected[i / N] && mag[i] == fabs(expected[i / N]));
}

/* Two groups of capacity 3 with 1 and 2 valid rows; the others of D keep their values. */
static void masked_by_hand(void **state)
{
    (void)state;
    enum { M = 3, N = 2, K = 2, PITCH = 4 };
    const int64_t dim[] = {2, 1, M, N, K};
    const int32_t valid[] = {1, 2};
    const float scale_a[2 * PITCH] = {1, NAN, NAN, NAN, 4, 16, NAN, NAN}, scale_b[] = {1, 2};
    uint8_t a[2 * M * K], b[2 * N * K];
    uint16_t before[2 * M * N];
    double d[2 * M * N], mag[2 * M * N];
    memset(a, e4m3_from_f32(1), sizeof a);
    memset(b, e4m3_from_f32(1), sizeof b);
    for (int i = 0; i < 2 * M * N; i++)
        before[i] = bf16_from_f32((float)(100 + i));
    void *buffer[] = {a, b, (void *)scale_a, (void *)scale_b, (void *)valid, before};
    ridge_family_gemm_grouped_masked.reference(dim, buffer, (double *[]){d}, (double *[]){mag});
    const double expected[] = {2, 0, 0, 2 * 4 * 2, 2 * 16 * 2, 0};
    for (int i = 0; i < 2 * M * N; i++) {
        const bool kept = expected[i / N] == 0;
        assert_true(d[i] == (kept ? 100 + i : expected[i / N]) && mag[i] == (kept ? 0 : d[i]));
    }
}

static void even_layout_has_the_rows_of_the_shape(void **state)
{
    (void)state;
    const int64_t dim[] = {3, 30, 100, 4, 16};
    struct family_case c;
    case_open(&c, &ridge_family_gemm_grouped_contiguous, dim, 0, NULL);
    const int32_t *group = c.buffer[GROUPED_INDEX];
    const float *scale_a = c.buffer[GROUPED_SCALE_A];
    for (int32_t g = 0; g < 3; g++) {
        assert_int_equal(count_equal(group, 100, g), 30);
        assert_int_equal(group[contiguous_start(dim, g)], g);
        assert_int_equal(group[contiguous_start(dim, g) + 29], g);
    }
    assert_int_equal(count_equal(group, 100, -1), 10);
    for (int i = 0; i < 100; i++) {
        assert_true(isnan(scale_a[i]) == (group[i] < 0));
        for (int j = 0; j < 4; j++)
            assert_true((c.mag[0][i * 4 + j] > 0) == (group[i] >= 0));
    }
    case_close(&c);
}

/* Hard cases hold what their names say, padding is NaN in A and in its scales, and no result is touched by it. */
static void contiguous_hard_cases(void **state)
{
    (void)state;
    const struct ridge_family *family = &ridge_family_gemm_grouped_contiguous;
    const int64_t dim[] = {5, 40, 260, 3, 32};
    for (int hard = 1; family->cases[hard - 1]; hard++) {
        struct family_case c;
        case_open(&c, family, dim, hard, NULL);
        const int32_t *group = c.buffer[GROUPED_INDEX];
        int64_t padding = 0, falls = 0;
        for (int i = 0; i < 260; i++) {
            const bool none = group[i] < 0 || group[i] >= 5;
            padding += none;
            falls += i > 0 && group[i] < group[i - 1] && group[i] >= 0;
            assert_true(isnan(((float *)c.buffer[GROUPED_SCALE_A])[i]) == none);
            assert_true((((uint8_t *)c.buffer[GROUPED_A])[i * 32] == GROUPED_NAN_E4M3) == none);
            assert_true(isfinite(c.ref[0][i * 3]) && (c.mag[0][i * 3] > 0) == !none);
        }
        assert_true(padding > 0 && (padding == 260) == (hard == hard_case(family, "all_padding")));
        if (hard == hard_case(family, "unsorted"))
            assert_true(falls > 30);
        if (hard == hard_case(family, "scattered_padding"))
            assert_true(falls == 0 && padding > 60 + 30);
        if (hard == hard_case(family, "out_of_range"))
            assert_true(count_equal(group, 260, 5) > 0 && count_equal(group, 260, INT32_MAX) > 0 &&
                        count_equal(group, 260, INT32_MIN) > 0);
        case_close(&c);
    }
}

static void uneven_groups_may_be_empty(void **state)
{
    (void)state;
    const struct ridge_family *family = &ridge_family_gemm_grouped_contiguous;
    const int64_t dim[] = {40, 6, 300, 2, 16};
    struct family_case c;
    int64_t empty = 0, long_ones = 0;
    case_open(&c, family, dim, hard_case(family, "uneven"), NULL);
    for (int32_t g = 0; g < 40; g++) {
        const int64_t rows = count_equal(c.buffer[GROUPED_INDEX], 300, g);
        empty += rows == 0;
        long_ones += rows > 7;
    }
    assert_true(empty > 4 && long_ones > 4);
    case_close(&c);
}

static void masked_hard_cases(void **state)
{
    (void)state;
    const struct ridge_family *family = &ridge_family_gemm_grouped_masked;
    enum { GROUPS = 12, M = 9, N = 3, K = 16 };
    const int64_t dim[] = {GROUPS, 4, M, N, K};
    for (int hard = 0; hard == 0 || family->cases[hard - 1]; hard++) {
        struct family_case c;
        case_open(&c, family, dim, hard, NULL);
        const int32_t *valid = c.buffer[GROUPED_INDEX];
        const uint16_t *before = c.buffer[GROUPED_D];
        for (int row = 0; row < GROUPS * M; row++) {
            const bool none = row % M >= masked_rows(valid[row / M], M);
            assert_true(isnan(((float *)c.buffer[GROUPED_SCALE_A])[row / M * 12 + row % M]) == none);
            assert_true(hard == 0 || (((uint8_t *)c.buffer[GROUPED_A])[row * K] == GROUPED_NAN_E4M3) == none);
            for (int i = row * N; i < row * N + N; i++)
                assert_true(none ? c.mag[0][i] == 0 && c.ref[0][i] == bf16_to_f32(before[i]) : c.mag[0][i] > 0);
        }
        if (hard == 0)
            assert_int_equal(count_equal(valid, GROUPS, 4), GROUPS);
        if (hard == hard_case(family, "uneven"))
            assert_true(count_equal(valid, GROUPS, 0) > 0 && count_equal(valid, GROUPS, M) > 0);
        if (hard == hard_case(family, "empty"))
            assert_int_equal(count_equal(valid, GROUPS, 0), GROUPS);
        if (hard == hard_case(family, "out_of_range"))
            assert_true(count_equal(valid, GROUPS, M + 1) && count_equal(valid, GROUPS, INT32_MAX) &&
                        count_equal(valid, GROUPS, -1) && count_equal(valid, GROUPS, INT32_MIN));
        case_close(&c);
    }
}

static void valid_rows_are_clamped(void **state)
{
    (void)state;
    assert_int_equal(masked_rows(INT32_MIN, 7), 0);
    assert_int_equal(masked_rows(-1, 7), 0);
    assert_int_equal(masked_rows(0, 7), 0);
    assert_int_equal(masked_rows(6, 7), 6);
    assert_int_equal(masked_rows(8, 7), 7);
    assert_int_equal(masked_rows(INT32_MAX, 7), 7);
}

static void shapes_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    const int64_t contiguous[] = {3, 34, 100, 8, 16}, masked[] = {3, 101, 100, 8, 16};
    assert_string_equal(ridge_family_gemm_grouped_contiguous.shape_error(contiguous),
                        "rows=34: rows must be at most m / groups = 33");
    assert_string_equal(ridge_family_gemm_grouped_masked.shape_error(masked),
                        "rows=101: rows must be at most m=100, the capacity of a group");
}

static void every_shape_is_valid(void **state)
{
    (void)state;
    const struct ridge_family *const families[] = {&ridge_family_gemm_grouped_contiguous,
                                                   &ridge_family_gemm_grouped_masked};
    for (int f = 0; f < 2; f++) {
        for (int i = 0; i < families[f]->shapes; i++)
            assert_null(families[f]->shape_error(families[f]->shape[i].dim));
        for (int i = 0; i < families[f]->check_dims; i++)
            assert_null(families[f]->shape_error(families[f]->check_dim[i]));
    }
}

/* Useful work is that of valid rows; padding counts where zeros are written. */
static void work_is_of_valid_rows(void **state)
{
    (void)state;
    const int64_t dim[] = {3, 5, 20, 8, 160};
    struct ridge_work contiguous = {0}, masked = {0};
    ridge_family_gemm_grouped_contiguous.work(dim, &contiguous);
    ridge_family_gemm_grouped_masked.work(dim, &masked);
    assert_true(contiguous.flop_fp8 == 2.0 * 15 * 8 * 160 && contiguous.flop_fp32 == 2.0 * 15 * 8 * 2);
    assert_true(contiguous.bytes_hbm_read == 15 * 160 + 3 * 8 * 160 + 4 * (15 * 2 + 3 * 2) + 4 * 20);
    assert_true(contiguous.bytes_hbm_write == 2 * 20 * 8);
    assert_true(masked.flop_fp8 == contiguous.flop_fp8 && masked.bytes_hbm_write == 2 * 15 * 8);
    assert_true(masked.bytes_hbm_read == 15 * 160 + 3 * 8 * 160 + 4 * (15 * 2 + 3 * 2) + 4 * 3);
}

/* A tile takes a pass for each group that it has rows of. */
static void passes_are_counted(void **state)
{
    (void)state;
    const int64_t aligned[] = {4, 256, 1024, 8, 16}, astride[] = {4, 250, 1000, 8, 16}, gaps[] = {2, 10, 1000, 8, 16};
    assert_int_equal(contiguous_passes(aligned, 256), 4);
    assert_int_equal(contiguous_passes(aligned, 128), 8);
    assert_int_equal(contiguous_passes(astride, 256), 4 + 3); /* starts 250, 500, 750: three tiles have two groups */
    assert_int_equal(contiguous_passes(gaps, 256), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contiguous_by_hand),
        cmocka_unit_test(masked_by_hand),
        cmocka_unit_test(even_layout_has_the_rows_of_the_shape),
        cmocka_unit_test(contiguous_hard_cases),
        cmocka_unit_test(uneven_groups_may_be_empty),
        cmocka_unit_test(masked_hard_cases),
        cmocka_unit_test(valid_rows_are_clamped),
        cmocka_unit_test(shapes_that_do_not_fit_are_refused),
        cmocka_unit_test(every_shape_is_valid),
        cmocka_unit_test(work_is_of_valid_rows),
        cmocka_unit_test(passes_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

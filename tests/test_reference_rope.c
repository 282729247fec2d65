/* SPDX-License-Identifier: Apache-2.0 */
/* The RoPE reference and table against properties of rotations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/family_case.h"

extern const struct ridge_family ridge_family_rope;
static const struct ridge_family *const family = &ridge_family_rope;

static void position_zero_is_the_identity(void **state)
{
    (void)state;
    const int64_t dim[] = {3, 2, 8, 1}; /* one position: zero */
    struct family_case c;
    case_open(&c, family, dim, 0, NULL);
    const uint16_t *x = c.buffer[0];
    const float *table = c.buffer[2];
    for (int64_t i = 0; i < c.count[0]; i++)
        assert_true(c.ref[0][i] == bf16_to_f32(x[i]));
    for (int i = 0; i < 4; i++)
        assert_true(table[2 * i] == 1 && table[2 * i + 1] == 0);
    case_close(&c);
}

static void norms_are_kept(void **state)
{
    (void)state;
    const int64_t dim[] = {17, 3, 64, 100000};
    struct family_case c;
    case_open(&c, family, dim, 0, NULL);
    const uint16_t *x = c.buffer[0];
    for (int64_t i = 0; i < c.count[0]; i += 2) {
        const double before = hypot(bf16_to_f32(x[i]), bf16_to_f32(x[i + 1]));
        assert_true(fabs(hypot(c.ref[0][i], c.ref[0][i + 1]) - before) <= 1e-14 * before);
        assert_true(c.mag[0][i] >= before && c.mag[0][i] == c.mag[0][i + 1]);
    }
    case_close(&c);
}

/* Pair 0 turns by one radian a position; pair 1 of dim 4 by 1/100. */
static void angles_by_hand(void **state)
{
    (void)state;
    const int64_t dim[] = {1, 1, 4, 8};
    const uint16_t one = bf16_from_f32(1);
    uint16_t x[] = {one, 0, 0, one};
    int32_t position[] = {7};
    float table[8 * 4];
    double ref[4], mag[4];
    family->fill(dim, 0, 1, (void *[]){x, position, table});
    for (int p = 0; p < 8; p++) {
        assert_true(table[p * 4] == (float)cos(p) && table[p * 4 + 1] == (float)sin(p));
        assert_true(fabs(table[p * 4 + 2] - cos(p / 100.0)) < 1e-7 && fabs(table[p * 4 + 3] - sin(p / 100.0)) < 1e-7);
    }
    position[0] = 7;
    family->reference(dim, (void *[]){x, position, table}, (double *[]){ref}, (double *[]){mag});
    assert_true(fabs(ref[0] - cos(7)) < 1e-15 && fabs(ref[1] - sin(7)) < 1e-15);
    assert_true(fabs(ref[2] + sin(0.07)) < 1e-15 && fabs(ref[3] - cos(0.07)) < 1e-15);
    assert_true(mag[0] == 1 && mag[3] == 1);
}

/* Scores depend on the distance of positions alone: <R(p) a, R(q) b> is the same for (p, q) and (p + 5, q + 5). */
static void products_depend_on_distance(void **state)
{
    (void)state;
    const int64_t dim[] = {4, 1, 64, 4096};
    uint16_t x[4 * 64];
    int32_t position[] = {1000, 990, 1005, 995};
    double ref[4 * 64], mag[4 * 64], near = 0, far = 0;
    for (int i = 0; i < 128; i++)
        x[i] = x[i + 128] = bf16_from_f32(fill_normal(5, (uint64_t)i, 1));
    family->reference(dim, (void *[]){x, position, NULL}, (double *[]){ref}, (double *[]){mag});
    for (int i = 0; i < 64; i++) {
        near += ref[i] * ref[64 + i];
        far += ref[128 + i] * ref[192 + i];
    }
    assert_true(fabs(near - far) < 1e-10);
}

static void positions_are_valid_and_not_sorted(void **state)
{
    (void)state;
    const int64_t dim[] = {1000, 1, 2, 256};
    struct family_case c;
    case_open(&c, family, dim, 0, NULL);
    const int32_t *position = c.buffer[1];
    int falls = 0;
    for (int t = 0; t < 1000; t++) {
        assert_in_range(position[t], 0, 255);
        falls += t > 0 && position[t] < position[t - 1];
    }
    assert_true(falls > 400 && falls < 600);
    case_close(&c);
}

static void positions_outside_leave_a_token_alone(void **state)
{
    (void)state;
    const int64_t dim[] = {16, 2, 8, 100};
    struct family_case c;
    assert_string_equal(family->cases[0], "out_of_range");
    case_open(&c, family, dim, 1, NULL);
    const int32_t *position = c.buffer[1];
    const uint16_t *x = c.buffer[0];
    int negative = 0, large = 0;
    for (int t = 0; t < 16; t++) {
        negative += position[t] < 0;
        large += position[t] >= 100;
        for (int i = t * 16; (position[t] < 0 || position[t] >= 100) && i < t * 16 + 16; i++)
            assert_true(c.ref[0][i] == bf16_to_f32(x[i]));
    }
    assert_int_equal(negative, 4);
    assert_int_equal(large, 4);
    case_close(&c);
}

/* Bytes of the table: all rows when tokens are many, about one a token when they are few. */
static void work_counts_rows_that_are_read(void **state)
{
    (void)state;
    const int64_t many[] = {100000, 1, 64, 16}, few[] = {2, 1, 64, 1000000};
    struct ridge_work work = {0};
    family->work(many, &work);
    assert_true(fabs(work.bytes_hbm_read - (2 * 6400000.0 + 400000 + 4 * 64 * 16)) < 1);
    assert_true(work.bytes_hbm_write == 2 * 6400000.0 && work.flop_fp32 == 3 * 6400000.0);
    family->work(few, &work);
    assert_true(fabs(work.bytes_hbm_read - (2 * 128 + 8 + 2 * 64 * 4)) < 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(position_zero_is_the_identity),
        cmocka_unit_test(norms_are_kept),
        cmocka_unit_test(angles_by_hand),
        cmocka_unit_test(products_depend_on_distance),
        cmocka_unit_test(positions_are_valid_and_not_sorted),
        cmocka_unit_test(positions_outside_leave_a_token_alone),
        cmocka_unit_test(work_counts_rows_that_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

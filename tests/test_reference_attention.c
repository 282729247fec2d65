/* SPDX-License-Identifier: Apache-2.0 */
/* The attention reference against cases whose softmax is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/family_case.h"

extern const struct ridge_family ridge_family_attention_f32;
static const struct ridge_family *const family = &ridge_family_attention_f32;

enum { B = 2, S_Q = 3, S_K = 5, H = 2, DIM = 8 };
static const int64_t dim[] = {B, S_Q, S_K, H, DIM};
static float q[B * S_Q * H * DIM], k[B * S_K * H * DIM], v[B * S_K * H * DIM];
static double out[B * S_Q * H * DIM], out_mag[B * S_Q * H * DIM], lse[B * H * S_Q], lse_mag[B * H * S_Q];

static void reference(void)
{
    family->reference(dim, (void *[]){q, k, v, NULL, NULL}, (double *[]){out, lse}, (double *[]){out_mag, lse_mag});
}

static float *at_k(float *x, int b, int key, int h)
{
    return x + ((b * S_K + key) * H + h) * DIM;
}

static int at_q(int b, int i, int h)
{
    return ((b * S_Q + i) * H + h) * DIM;
}

static void random_inputs(void)
{
    for (int i = 0; i < B * S_Q * H * DIM; i++)
        q[i] = fill_normal(1, (uint64_t)i, 1);
    for (int i = 0; i < B * S_K * H * DIM; i++) {
        k[i] = fill_normal(2, (uint64_t)i, 1);
        v[i] = fill_normal(3, (uint64_t)i, 1);
    }
}

/* Equal scores: the mean of the values; lse = score + log(s_k). */
static void equal_scores_average(void **state)
{
    (void)state;
    random_inputs();
    for (int i = 0; i < B * S_K * H * DIM; i++)
        k[i] = 1;
    reference();
    for (int b = 0; b < B; b++)
        for (int i = 0; i < S_Q; i++)
            for (int h = 0; h < H; h++) {
                double score = 0;
                for (int d = 0; d < DIM; d++) {
                    double mean = 0, magnitude = 0;
                    for (int key = 0; key < S_K; key++) {
                        mean += at_k(v, b, key, h)[d] / (double)S_K;
                        magnitude += fabs(at_k(v, b, key, h)[d]) / S_K;
                    }
                    score += q[at_q(b, i, h) + d] / sqrt(DIM);
                    assert_true(fabs(out[at_q(b, i, h) + d] - mean) < 1e-14);
                    assert_true(fabs(out_mag[at_q(b, i, h) + d] - magnitude) < 1e-14);
                }
                const int row = (b * H + h) * S_Q + i;
                assert_true(fabs(lse[row] - (score + log(S_K))) < 1e-13);
                assert_true(fabs(lse_mag[row] - (1 + fabs(lse[row]))) < 1e-15);
            }
}

/* One key far above the others: its value alone, and lse its score. */
static void one_key_dominates(void **state)
{
    (void)state;
    random_inputs();
    for (int i = 0; i < B * S_Q * H * DIM; i++)
        q[i] = 1;
    for (int b = 0; b < B; b++)
        for (int h = 0; h < H; h++)
            for (int d = 0; d < DIM; d++)
                at_k(k, b, b + 2 * h, h)[d] = 1000;
    reference();
    for (int b = 0; b < B; b++)
        for (int i = 0; i < S_Q; i++)
            for (int h = 0; h < H; h++) {
                for (int d = 0; d < DIM; d++)
                    assert_true(out[at_q(b, i, h) + d] == at_k(v, b, b + 2 * h, h)[d]);
                assert_true(fabs(lse[(b * H + h) * S_Q + i] - 8000 / sqrt(8)) < 1e-11);
            }
}

/* Two keys whose scores differ by log 3: weights 1/4 and 3/4. */
static void weights_by_hand(void **state)
{
    (void)state;
    const int64_t small[] = {1, 1, 2, 1, 8};
    float query[8] = {1}, keys[16] = {0}, values[16] = {0};
    double result[8], magnitude[8], log_sum, log_mag;
    keys[0] = 2;
    keys[8] = (float)(2 + sqrt(8) * log(3));
    values[0] = 8;
    values[8] = -4;
    family->reference(small, (void *[]){query, keys, values, NULL, NULL}, (double *[]){result, &log_sum},
                      (double *[]){magnitude, &log_mag});
    assert_true(fabs(result[0] - (8 * 0.25 - 4 * 0.75)) < 1e-6);
    assert_true(fabs(magnitude[0] - (8 * 0.25 + 4 * 0.75)) < 1e-6);
    assert_true(fabs(log_sum - (2 / sqrt(8) + log(4))) < 1e-6);
    assert_true(result[1] == 0);
}

static void order_of_keys_does_not_matter(void **state)
{
    (void)state;
    static double first[B * S_Q * H * DIM];
    random_inputs();
    reference();
    memcpy(first, out, sizeof first);
    for (int b = 0; b < B; b++)
        for (int h = 0; h < H; h++)
            for (int d = 0; d < DIM; d++)
                for (int t = 0; t < 2; t++) {
                    float *x = t ? v : k, swap = at_k(x, b, 0, h)[d];
                    at_k(x, b, 0, h)[d] = at_k(x, b, 4, h)[d];
                    at_k(x, b, 4, h)[d] = swap;
                }
    reference();
    for (int i = 0; i < B * S_Q * H * DIM; i++)
        assert_true(fabs(first[i] - out[i]) < 1e-13);
}

static void nan_stays(void **state)
{
    (void)state;
    random_inputs();
    at_k(k, 1, 2, 1)[3] = NAN;
    reference();
    for (int i = 0; i < S_Q; i++) {
        assert_true(isnan(out[at_q(1, i, 1)]) && isnan(lse[(1 * H + 1) * S_Q + i]));
        assert_false(isnan(out[at_q(1, i, 0)]) || isnan(lse[(1 * H + 0) * S_Q + i]));
    }
}

/* The rising case: scores of standard deviation 3 about a ramp, and a maximum that keeps rising by blocks of 64. */
static void rising_case_rises(void **state)
{
    (void)state;
    const int64_t long_dim[] = {1, 1, 512, 2, 64};
    struct family_case c;
    assert_string_equal(family->cases[0], "rising");
    case_open(&c, family, long_dim, 1, NULL);
    for (int h = 0; h < 2; h++) {
        const float *query = (float *)c.buffer[0] + h * 64;
        double best = -INFINITY, square = 0;
        for (int block = 0; block < 8; block++) {
            double block_best = -INFINITY;
            for (int key = block * 64; key < block * 64 + 64; key++) {
                const float *row = (float *)c.buffer[1] + (key * 2 + h) * 64;
                double score = 0;
                for (int d = 0; d < 64; d++)
                    score += (double)query[d] * row[d] / 8;
                block_best = fmax(block_best, score);
                square += (score - key / 16.0) * (score - key / 16.0) / 512;
            }
            assert_true(block == 0 || block_best > best - 3);
            best = fmax(best, block_best);
        }
        assert_true(best > 28);
        assert_true(sqrt(square) > 2 && sqrt(square) < 4);
    }
    case_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_scores_average),
        cmocka_unit_test(one_key_dominates),
        cmocka_unit_test(weights_by_hand),
        cmocka_unit_test(order_of_keys_does_not_matter),
        cmocka_unit_test(nan_stays),
        cmocka_unit_test(rising_case_rises),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

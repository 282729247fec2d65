/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of a token in the cache, and the identities behind the absorbed form. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "kernels/support/fill.h"
#include "kernels/support/kv_format.h"
#include "kernels/support/mla_account.h"
#include "kernels/support/mla_algebra.h"

static const struct mla_format *find(const char *name)
{
    for (size_t i = 0; i < mla_format_count; i++)
        if (strcmp(mla_formats[i].name, name) == 0)
            return &mla_formats[i];
    fail_msg("no format %s", name);
    return NULL;
}

static void bytes_of_a_token(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t bytes;
    } expected[] = {{"MHA", 65536},         {"GQA, 8 groups", 4096},  {"MQA", 512},           {"MLA BF16", 1152},
                    {"MLA FP8, V3.2", 656}, {"MLA FP8, MODEL1", 584}, {"MLA FP8, V4.1", 528}, {"MLA FP4, V4.1", 288}};
    assert_int_equal(mla_format_count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < mla_format_count; i++)
        assert_int_equal(mla_format_bytes(find(expected[i].name)), expected[i].bytes);
    assert_string_equal(mla_formats[0].name, "MHA");
    assert_int_equal(mla_format_bytes(find("MLA FP8, V3.2")), kv_token_bytes(KV_V32)); /* what is really encoded */
    assert_int_equal(mla_format_bytes(find("MLA FP8, MODEL1")), kv_token_bytes(KV_MODEL1));
    assert_int_equal(mla_format_bytes(find("MLA FP8, V4.1")), kv_token_bytes(KV_V41_FP8));
    assert_int_equal(mla_format_bytes(find("MLA FP4, V4.1")), kv_token_bytes(KV_V41_FP4));
}

/* 8.72 GiB: a request of 128K tokens in MLA BF16 over 62 layers, as published; 61 give 8.58. */
static void bytes_of_a_context(void **state)
{
    (void)state;
    assert_true(fabs(mla_cache_bytes(find("MLA BF16"), 131072, 62) / 0x1p30 - 8.72) < 0.005);
    assert_true(fabs(mla_cache_bytes(find("MLA BF16"), 131072, 61) / 0x1p30 - 8.58) < 0.005);
    assert_true(mla_cache_bytes(find("MHA"), 1, 61) == 3997696);
    assert_true(mla_cache_bytes(find("MLA FP8, V3.2"), 1000000000, 10000) == 656e13);
}

static void layouts_are_written_out_and_cut(void **state)
{
    (void)state;
    char buf[64], small[8] = "";
    assert_int_equal(mla_format_layout(find("MLA FP8, V3.2"), buf, sizeof buf), 38);
    assert_string_equal(buf, "512 e4m3 + 4 f32 scales + 64 bf16 RoPE");
    assert_int_equal(mla_format_layout(find("MLA FP8, V3.2"), small, sizeof small), 38);
    assert_string_equal(small, "512 e4m");
    assert_int_equal(mla_format_layout(find("MLA FP8, V3.2"), small, 1), 38);
    assert_string_equal(small, "");
}

enum { HEADS = 3, HEAD_DIM = 8, LATENT = 16, ROPE = 4, HIDDEN = 5, TOKENS = 11, WIDTH = LATENT + ROPE };
enum { QUERY = HEADS * (HEAD_DIM + ROPE) };
static double w_uk[HEADS * HEAD_DIM * LATENT], w_uv[HEADS * HEAD_DIM * LATENT], w_o[HIDDEN * HEADS * HEAD_DIM];
static double q[QUERY], cache[TOKENS * WIDTH], absorbed[HEADS * WIDTH], w_ov[HIDDEN * HEADS * LATENT];
static const struct mla_model model = {HEADS, HEAD_DIM, LATENT, ROPE, HIDDEN, w_uk, w_uv, w_o};

static void fill_normals(double *x, int64_t count, uint64_t seed)
{
    for (int64_t i = 0; i < count; i++)
        x[i] = fill_normal(seed, (uint64_t)i, 1);
}

static void random_model(void)
{
    fill_normals(w_uk, HEADS * HEAD_DIM * LATENT, 1);
    fill_normals(w_uv, HEADS * HEAD_DIM * LATENT, 2);
    fill_normals(w_o, HIDDEN * HEADS * HEAD_DIM, 3);
    fill_normals(q, QUERY, 4);
    fill_normals(cache, TOKENS * WIDTH, 5);
}

/* Rotates the RoPE columns as a model would: the query at position `at`, cache rows at their own + shift. */
static void rotate_all(double at, double shift)
{
    for (int h = 0; h < HEADS; h++)
        mla_rotate(q + h * (HEAD_DIM + ROPE) + HEAD_DIM, ROPE, at + shift);
    for (int j = 0; j < TOKENS; j++)
        mla_rotate(cache + j * WIDTH + LATENT, ROPE, j + shift);
}

static double difference(const double *x, const double *y, int count)
{
    double worst = 0;
    for (int i = 0; i < count; i++)
        worst = !(fabs(x[i] - y[i]) <= worst) ? fabs(x[i] - y[i]) : worst;
    return worst;
}

static void absorbing_changes_nothing(void **state)
{
    (void)state;
    double expanded[HIDDEN], as_mqa[HIDDEN];
    random_model();
    rotate_all(TOKENS, 0);
    mla_absorb_query(&model, q, absorbed);
    mla_absorb_output(&model, w_ov);
    assert_int_equal(mla_attend_expanded(&model, q, cache, TOKENS, expanded), 0);
    assert_int_equal(mla_attend_absorbed(&model, absorbed, w_ov, cache, TOKENS, as_mqa), 0);
    assert_true(difference(expanded, as_mqa, HIDDEN) < 1e-11);
    assert_true(fabs(expanded[0]) > 0.01);

    absorbed[0] += 1; /* the comparison sees one wrong element */
    assert_int_equal(mla_attend_absorbed(&model, absorbed, w_ov, cache, TOKENS, as_mqa), 0);
    assert_true(difference(expanded, as_mqa, HIDDEN) > 1e-3);
}

/* Exact in real numbers only: absorbed matrices that are kept in BF16 give another result. */
static void rounding_absorbed_matrices_changes_the_result(void **state)
{
    (void)state;
    double expanded[HIDDEN], rounded[HIDDEN];
    random_model();
    mla_absorb_query(&model, q, absorbed);
    mla_absorb_output(&model, w_ov);
    for (int i = 0; i < HEADS * WIDTH; i++)
        absorbed[i] = bf16_to_f32(bf16_from_f32((float)absorbed[i]));
    for (int i = 0; i < HIDDEN * HEADS * LATENT; i++)
        w_ov[i] = bf16_to_f32(bf16_from_f32((float)w_ov[i]));
    assert_int_equal(mla_attend_expanded(&model, q, cache, TOKENS, expanded), 0);
    assert_int_equal(mla_attend_absorbed(&model, absorbed, w_ov, cache, TOKENS, rounded), 0);
    const double off = difference(expanded, rounded, HIDDEN);
    assert_true(off > 1e-4 && off < 1);
}

static void rotation_by_hand(void **state)
{
    (void)state;
    double x[] = {1, 0, 0, 2};
    mla_rotate(x, 4, 3);
    const double expected[] = {cos(3), sin(3), -2 * sin(0.03), 2 * cos(0.03)}; /* theta^(-2/4) = 1/100 */
    assert_true(difference(x, expected, 4) < 1e-14);
}

/* With columns of their own for the position, the result depends on distances only, absorbed or not. */
static void decoupled_positions_enter_as_distances(void **state)
{
    (void)state;
    double u[3][HIDDEN] = {{0}};
    for (int pass = 0; pass < 3; pass++) {
        random_model();
        rotate_all(pass == 2 ? TOKENS - 1 : TOKENS, pass == 1 ? 1000 : 0);
        mla_absorb_query(&model, q, absorbed);
        mla_absorb_output(&model, w_ov);
        assert_int_equal(mla_attend_absorbed(&model, absorbed, w_ov, cache, TOKENS, u[pass]), 0);
    }
    assert_true(difference(u[0], u[1], HIDDEN) < 1e-10);
    assert_true(difference(u[0], u[2], HIDDEN) > 1e-3);
}

/* (R_t q)^T (R_j W c) = (W^T R_(t-j) q)^T c: what would be absorbed depends on the distance, so no single query
 * serves two cache rows. */
static void rotated_keys_cannot_be_absorbed(void **state)
{
    (void)state;
    double query[2][LATENT];
    random_model();
    for (int distance = 0; distance < 2; distance++) {
        double rotated[HEAD_DIM], key[HEAD_DIM] = {0}, direct = 0, through = 0;
        memcpy(rotated, q, sizeof rotated);
        mla_rotate(rotated, HEAD_DIM, distance);
        for (int c = 0; c < LATENT; c++) {
            query[distance][c] = 0;
            for (int i = 0; i < HEAD_DIM; i++) {
                query[distance][c] += w_uk[i * LATENT + c] * rotated[i];
                key[i] += w_uk[i * LATENT + c] * cache[c];
            }
            through += query[distance][c] * cache[c];
        }
        memcpy(rotated, q, sizeof rotated);
        mla_rotate(rotated, HEAD_DIM, 70);
        mla_rotate(key, HEAD_DIM, 70 - distance);
        for (int i = 0; i < HEAD_DIM; i++)
            direct += rotated[i] * key[i];
        assert_true(fabs(direct - through) < 1e-11);
    }
    assert_true(difference(query[0], query[1], LATENT) > 0.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_of_a_token),
        cmocka_unit_test(bytes_of_a_context),
        cmocka_unit_test(layouts_are_written_out_and_cut),
        cmocka_unit_test(absorbing_changes_nothing),
        cmocka_unit_test(rounding_absorbed_matrices_changes_the_result),
        cmocka_unit_test(rotation_by_hand),
        cmocka_unit_test(decoupled_positions_enter_as_distances),
        cmocka_unit_test(rotated_keys_cannot_be_absorbed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The reference of mla_decode on cases known by hand, its hard inputs, and what the seesaw schedule rests on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kernels/mla_decode/mla_decode.h"
#include "kernels/mla_decode/mla_decode_seesaw.h"
#include "tests/family_case.h"

extern const struct ridge_family ridge_family_mla_decode;
extern const struct ridge_variant ridge_variant_mla_decode_h01_naive, ridge_variant_mla_decode_h02_flash_decode,
    ridge_variant_mla_decode_h03_seesaw_order;
static const struct ridge_family *const family = &ridge_family_mla_decode;
static const struct ridge_variant *const variants[] = {&ridge_variant_mla_decode_h01_naive,
                                                       &ridge_variant_mla_decode_h02_flash_decode,
                                                       &ridge_variant_mla_decode_h03_seesaw_order};
static const struct ridge_device device = {.kind = RIDGE_HOST, .sms = 2};
enum { RANDOM, VARIED, RISING, POISONED };

static int64_t table_entry(const struct family_case *c, int64_t i)
{
    return ((const int32_t *)c->buffer[MLA_BLOCK_TABLE])[i];
}

static const int32_t *lengths(const struct family_case *c)
{
    return c->buffer[MLA_LENGTH];
}

static const uint16_t *key_row(const struct family_case *c, int64_t b, int64_t key)
{
    const uint16_t *kv = c->buffer[MLA_KV];
    return kv + mla_key_offset(c->dim, c->buffer[MLA_BLOCK_TABLE], b, key);
}

/* q = 0 gives equal scores: out is the mean of the visible values, lse the logarithm of their number. */
static void equal_scores_average_what_is_visible(void **state)
{
    (void)state;
    const int64_t dim[] = {3, 4, 37, 2, 8};
    struct family_case c;
    case_open(&c, family, dim, RANDOM, NULL);
    int32_t *length = c.buffer[MLA_LENGTH];
    length[0] = 37;
    length[1] = 2;
    length[2] = 0;
    memset(c.buffer[MLA_Q], 0, c.bytes[MLA_Q]);
    family->reference(dim, c.buffer, c.ref, c.mag);
    for (int64_t b = 0; b < 3; b++)
        for (int64_t i = 0; i < 4; i++)
            for (int64_t h = 0; h < 2; h++) {
                const int64_t last = length[b] - 4 + i; /* the last key that is seen */
                const double *out = c.ref[0] + ((b * 4 + i) * 2 + h) * MLA_D_V, lse = c.ref[1][(b * 2 + h) * 4 + i];
                for (int column = 0; column < MLA_D_V; column++) {
                    double mean = 0;
                    for (int64_t key = 0; key <= last; key++)
                        mean += bf16_to_f32(key_row(&c, b, key)[column]) / (double)(last + 1);
                    assert_true(fabs(out[column] - mean) < 1e-13);
                }
                if (last < 0)
                    assert_true(lse == INFINITY);
                else
                    assert_true(fabs(lse - log((double)last + 1)) < 1e-13);
            }
    case_close(&c);
}

/* Two keys with scores 0 and log 3 (but for BF16): weights 1/4 and 3/4; columns 512 and up are in no value. */
static void weights_by_hand(void **state)
{
    (void)state;
    const int64_t dim[] = {1, 1, 2, 1, 1};
    struct family_case c;
    case_open(&c, family, dim, RANDOM, NULL);
    uint16_t *q = c.buffer[MLA_Q], *kv = c.buffer[MLA_KV];
    int32_t *table = c.buffer[MLA_BLOCK_TABLE];
    memset(q, 0, c.bytes[MLA_Q]);
    memset(kv, 0, c.bytes[MLA_KV]);
    table[0] = 1;
    table[1] = 0;
    q[575] = bf16_from_f32(24);
    kv[575] = bf16_from_f32((float)log(3)); /* page 0 is the second key */
    kv[511] = bf16_from_f32(8);
    kv[MLA_D_K + 511] = bf16_from_f32(-4);
    family->reference(dim, c.buffer, c.ref, c.mag);
    const double odds = exp(bf16_to_f32(kv[575]));
    assert_true(fabs(odds - 3) < 0.01);
    assert_true(fabs(c.ref[0][511] - (8 * odds - 4) / (1 + odds)) < 1e-12);
    assert_true(c.ref[0][510] == 0);
    assert_true(fabs(c.ref[1][0] - log(1 + odds)) < 1e-12);
    assert_true(fabs(c.mag[0][511] - (fabs(c.ref[0][511]) / 4 + fabs(c.ref[0][511]) / 8)) < 1e-12);
    case_close(&c);
}

static void hard_lengths_and_unused_pages(void **state)
{
    (void)state;
    const int64_t dim[] = {9, 2, 333, 2, 64}, columns = 6;
    for (int hard = VARIED; hard <= POISONED; hard += POISONED - VARIED) {
        struct family_case c;
        int64_t used = 0, nan_rows = 0;
        bool seen[54] = {false};
        case_open(&c, family, dim, hard, NULL);
        assert_int_equal(lengths(&c)[1], 0);
        assert_int_equal(lengths(&c)[2], 1);
        assert_true(lengths(&c)[0] % 64 != 0);
        for (int64_t b = 0; b < 9; b++) {
            assert_in_range(lengths(&c)[b], 0, 333);
            used += lengths(&c)[b];
            for (int64_t i = 0; i < columns; i++) {
                const int64_t page = table_entry(&c, b * columns + i);
                if (i * 64 >= lengths(&c)[b]) {
                    assert_int_equal(page, MLA_NO_PAGE);
                    continue;
                }
                assert_in_range(page, 0, 53);
                assert_false(seen[page]);
                seen[page] = true;
            }
        }
        for (int64_t row = 0; row < 54 * 64; row++)
            nan_rows += isnan(bf16_to_f32(((const uint16_t *)c.buffer[MLA_KV])[row * MLA_D_K + 575]));
        assert_int_equal(nan_rows, hard == POISONED ? 54 * 64 - used : 0);
        for (int64_t i = 0; i < c.count[MLA_OUT]; i++)
            assert_true(isfinite(c.ref[0][i]));
        case_close(&c);
    }
}

static void rising_maxima_rise_with_every_block(void **state)
{
    (void)state;
    const int64_t dim[] = {2, 1, 700, 2, 64};
    struct family_case c;
    case_open(&c, family, dim, RISING, NULL);
    double squares = 0, count = 0;
    for (int64_t row = 0; row < 4; row++) {
        double before = -INFINITY;
        for (int64_t block = 0; block < 11; block++) {
            double max = -INFINITY;
            for (int64_t key = block * 64; key < 700 && key < block * 64 + 64; key++) {
                const uint16_t *q = (const uint16_t *)c.buffer[MLA_Q] + row * MLA_D_K, *k = key_row(&c, row / 2, key);
                double score = 0;
                for (int i = 0; i < MLA_D_K; i++)
                    score += (double)bf16_to_f32(q[i]) * bf16_to_f32(k[i]) / 24;
                max = fmax(max, score);
                squares += (score - 8 * (double)block) * (score - 8 * (double)block);
                count++;
            }
            assert_true(max > before);
            before = max;
        }
    }
    const double deviation = sqrt(squares / count);
    assert_true(deviation > 2.7 && deviation < 3.3);
    case_close(&c);
}

static float as_online_softmax(float m_old, float m_new)
{
    return expf(m_old - m_new);
}

/* The factor with the sign as a walk-through prints it; nothing is there to rescale before the first block. */
static float as_printed(float m_old, float m_new)
{
    return m_old == -INFINITY ? 0 : expf(m_new - m_old);
}

static double seesaw_error(struct family_case *c, mla_rescale_fn rescale)
{
    char message[256] = "";
    void *workspace = case_alloc(mla_seesaw_workspace_bytes(c->dim, &device));
    const struct ridge_call call = {.dim = c->dim,
                                    .buffer = c->buffer,
                                    .workspace = workspace,
                                    .device = &device,
                                    .error = message,
                                    .error_bytes = sizeof message};
    case_reset(c);
    assert_int_equal(mla_seesaw(&call, rescale), 0);
    free(workspace);
    return case_max_error(c);
}

static void printed_sign_diverges_on_rising_maxima(void **state)
{
    (void)state;
    const int64_t dim[] = {1, 1, 700, 9, 64}, longer[] = {1, 1, 1500, 2, 64};
    struct family_case c;
    case_open(&c, family, dim, RISING, NULL);
    assert_true(seesaw_error(&c, as_online_softmax) <= 1);
    assert_false(seesaw_error(&c, as_printed) <= 100);
    case_close(&c);
    case_open(&c, family, longer, RISING, NULL); /* products of exp(8) leave FP32 */
    assert_true(seesaw_error(&c, as_online_softmax) <= 1);
    assert_false(seesaw_error(&c, as_printed) <= 100);
    assert_false(isfinite(((const float *)c.buffer[MLA_LSE])[0]));
    case_close(&c);
}

/* Where the maximum never rises after the first key, both signs are the same factor 1: such inputs prove nothing. */
static void constant_maxima_do_not_tell_the_signs_apart(void **state)
{
    (void)state;
    const int64_t dim[] = {1, 1, 700, 3, 64};
    struct family_case c;
    case_open(&c, family, dim, RANDOM, NULL);
    memset(c.buffer[MLA_Q], 0, c.bytes[MLA_Q]);
    family->reference(dim, c.buffer, c.ref, c.mag);
    assert_true(seesaw_error(&c, as_online_softmax) <= 1);
    assert_true(seesaw_error(&c, as_printed) <= 1);
    case_close(&c);
}

static int launch(struct family_case *c, const struct ridge_variant *variant, char *message, size_t message_bytes)
{
    void *workspace = case_alloc(variant->workspace_bytes(c->dim, &device));
    const struct ridge_call call = {.dim = c->dim,
                                    .buffer = c->buffer,
                                    .workspace = workspace,
                                    .device = &device,
                                    .error = message,
                                    .error_bytes = message_bytes};
    const int status = variant->launch(&call);
    free(workspace);
    return status;
}

static void bad_lengths_and_pages_are_refused(void **state)
{
    (void)state;
    const int64_t dim[] = {2, 1, 100, 1, 64};
    for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
        char message[256] = "";
        struct family_case c;
        case_open(&c, family, dim, RANDOM, NULL);
        int32_t *length = c.buffer[MLA_LENGTH], *table = c.buffer[MLA_BLOCK_TABLE];
        length[1] = 101;
        assert_int_not_equal(launch(&c, variants[v], message, sizeof message), 0);
        assert_string_equal(message, "length[1] = 101: must be in [0, s_k = 100]");
        length[1] = -1;
        assert_int_not_equal(launch(&c, variants[v], message, sizeof message), 0);
        assert_string_equal(message, "length[1] = -1: must be in [0, s_k = 100]");
        length[1] = 100;
        table[3] = MLA_NO_PAGE;
        assert_int_not_equal(launch(&c, variants[v], message, sizeof message), 0);
        assert_string_equal(message, "block_table[1, 1] = 2147480000: must be in [0, pages = 4)");
        length[1] = 64; /* no key is on that page now */
        assert_int_equal(launch(&c, variants[v], message, sizeof message), 0);
        case_close(&c);
    }
}

/* A NaN in a query or in a key that is seen reaches out and lse; it is not taken for a row without keys. */
static void nan_inputs_are_seen(void **state)
{
    (void)state;
    const int64_t dim[] = {1, 1, 200, 2, 64};
    for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
        for (int in_key = 0; in_key < 2; in_key++) {
            char message[256] = "";
            struct family_case c;
            case_open(&c, family, dim, RANDOM, NULL);
            uint16_t *kv = c.buffer[MLA_KV], *q = c.buffer[MLA_Q];
            *(in_key ? kv + mla_key_offset(dim, c.buffer[MLA_BLOCK_TABLE], 0, 77) : q) = 0x7fff;
            memset(c.buffer[MLA_LSE], 0, c.bytes[MLA_LSE]);
            memset(c.buffer[MLA_OUT], 0, c.bytes[MLA_OUT]);
            assert_int_equal(launch(&c, variants[v], message, sizeof message), 0);
            for (int row = 0; row < 1 + in_key; row++) {
                assert_true(isnan(((const float *)c.buffer[MLA_LSE])[row]));
                assert_true(isnan(case_value(c.buffer[MLA_OUT], RIDGE_BF16, row * MLA_D_V)));
            }
            assert_false(case_max_error(&c) <= 1);
            case_close(&c);
        }
    }
}

static void shapes_whose_pages_have_no_number_are_refused(void **state)
{
    (void)state;
    const int64_t good[] = {512, 1, 524288, 128, 64}, bad[] = {1 << 16, 1, 1 << 24, 1, 1};
    assert_null(family->shape_error(good));
    assert_non_null(strstr(family->shape_error(bad), "fewer than 2147480000"));
}

/* FLOP as FlashMLA's tests count: 2 h s_q s_k (576 + 512) b. */
static void work_of_a_shape(void **state)
{
    (void)state;
    const int64_t dim[] = {128, 2, 4096, 128, 64};
    struct ridge_work work = {0};
    family->work(dim, &work);
    assert_true(work.flop_bf16 == 2.0 * 128 * 2 * 4096 * 1088 * 128);
    assert_true(work.exp == 128.0 * 2 * 128 * 4096);
    assert_true(work.bytes_hbm_read == 128.0 * 4096 * 1152 + 128.0 * 2 * 128 * 1152 + 4.0 * 128 * 65);
    assert_true(work.bytes_hbm_write == 128.0 * 2 * 128 * (1024 + 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_scores_average_what_is_visible),
        cmocka_unit_test(weights_by_hand),
        cmocka_unit_test(hard_lengths_and_unused_pages),
        cmocka_unit_test(rising_maxima_rise_with_every_block),
        cmocka_unit_test(printed_sign_diverges_on_rising_maxima),
        cmocka_unit_test(constant_maxima_do_not_tell_the_signs_apart),
        cmocka_unit_test(bad_lengths_and_pages_are_refused),
        cmocka_unit_test(nan_inputs_are_seen),
        cmocka_unit_test(shapes_whose_pages_have_no_number_are_refused),
        cmocka_unit_test(work_of_a_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

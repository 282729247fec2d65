/* SPDX-License-Identifier: Apache-2.0 */
/* The reference of mla_prefill_sparse on cases known by hand, its rule for indices, and its hard inputs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "bench/registry.h"
#include "bench/shape.h"
#include "kernels/mla_prefill_sparse/mla_prefill_sparse.h"
#include "tests/family_case.h"

extern const struct ridge_family ridge_family_mla_prefill_sparse;
extern const struct ridge_variant ridge_variant_mla_prefill_sparse_h01_naive;
static const struct ridge_family *const family = &ridge_family_mla_prefill_sparse;
static const struct ridge_variant *const naive = &ridge_variant_mla_prefill_sparse_h01_naive;
static const struct ridge_device device = {.kind = RIDGE_HOST, .sms = 2};
enum { RANDOM, INVALID, RISING, POISONED };

/* q = 0 gives equal scores: out is the mean of the values of valid indices, each as often as it is listed, lse the
 * logarithm of their number. */
static void equal_scores_average_what_is_listed(void **state)
{
    (void)state;
    const int64_t dim[] = {2, 5, 1, 64, 576};
    const int32_t none[] = {-1, -2, INT32_MIN, INT32_MAX, -123456, 5, 6};
    struct family_case c;
    case_open(&c, family, dim, RANDOM, NULL);
    int32_t *indices = c.buffer[PREFILL_INDICES];
    const uint16_t *kv = c.buffer[PREFILL_KV];
    for (int i = 0; i < 128; i++)
        indices[i] = none[i % 7];
    indices[3] = 4;
    indices[40] = 0;
    indices[63] = 4;
    memset(c.buffer[PREFILL_Q], 0, c.bytes[PREFILL_Q]);
    family->reference(dim, c.buffer, c.ref, c.mag);
    for (int i = 0; i < PREFILL_D_V; i++) {
        const double mean = (2.0 * bf16_to_f32(kv[4 * 576 + i]) + bf16_to_f32(kv[i])) / 3;
        assert_true(fabs(c.ref[0][i] - mean) < 1e-13);
        assert_true(c.ref[0][PREFILL_D_V + i] == 0);
    }
    assert_true(c.ref[1][0] == 0 && fabs(c.ref[2][0] - log(3)) < 1e-13);
    assert_true(c.ref[1][1] == -INFINITY && c.ref[2][1] == INFINITY);
    case_close(&c);
}

/* Every value that is no row of kv, in a case where reading another row instead would be seen. */
static void out_of_range_is_no_key(void **state)
{
    (void)state;
    const int64_t dim[] = {1, 7, 1, 64, 576};
    const uint16_t *kv = (const uint16_t *)0x1000;
    const int32_t none[] = {-1, -2, INT32_MIN, INT32_MAX, -123456, 7, 8};
    for (int i = 0; i < 7; i++)
        assert_null(prefill_key(dim, kv, none[i]));
    assert_true(prefill_key(dim, kv, 0) == kv);
    assert_true(prefill_key(dim, kv, 6) == kv + 6 * 576);
}

static double error_of(const int64_t *dim, int hard)
{
    struct family_case c;
    char message[256] = "";
    case_open(&c, family, dim, hard, NULL);
    case_reset(&c);
    void *workspace = case_alloc(naive->workspace_bytes(dim, &device));
    const struct ridge_call call = {.dim = dim,
                                    .buffer = c.buffer,
                                    .workspace = workspace,
                                    .device = &device,
                                    .error = message,
                                    .error_bytes = sizeof message};
    assert_int_equal(naive->launch(&call), 0);
    const double error = case_max_error(&c);
    assert_int_equal(case_guard_damage(&c), 0);
    free(workspace);
    case_close(&c);
    return error;
}

static void naive_agrees_with_the_reference(void **state)
{
    (void)state;
    const int64_t dims[][RIDGE_MAX_AXES] = {{1, 1, 1, 64, 576}, {5, 95, 3, 128, 576}, {4, 40, 2, 192, 512}};
    for (int i = 0; i < 3; i++)
        for (int hard = RANDOM; hard <= POISONED; hard++)
            assert_true(error_of(dims[i], hard) <= 1);
}

/* The case "rising" raises the maximum with every block of 64, which is what makes rescaling visible. */
static void rising_rises(void **state)
{
    (void)state;
    const int64_t dim[] = {1, 4096, 1, 512, 576};
    struct family_case c;
    case_open(&c, family, dim, RISING, NULL);
    const uint16_t *kv = c.buffer[PREFILL_KV];
    const int32_t *indices = c.buffer[PREFILL_INDICES];
    for (int i = 64; i < 512; i++)
        assert_true(bf16_to_f32(kv[(indices[i] + 1) * 576 - 1]) == 8 * (float)(i / 64));
    case_close(&c);
}

/* Rows that no valid index names hold NaN, and the result has none. */
static void poisoned_rows_are_not_named(void **state)
{
    (void)state;
    const int64_t dim[] = {6, 31, 1, 128, 576};
    struct family_case c;
    case_open(&c, family, dim, POISONED, NULL);
    const uint16_t *kv = c.buffer[PREFILL_KV];
    const int32_t *indices = c.buffer[PREFILL_INDICES];
    assert_int_equal(kv[0], 0xffff);
    assert_int_equal(kv[31 * 576 - 1], 0xffff);
    for (int i = 0; i < 6 * 128; i++)
        assert_true(indices[i] != 0 && indices[i] != 30);
    for (int64_t i = 0; i < c.count[PREFILL_OUT]; i++)
        assert_true(isfinite(c.ref[0][i]));
    case_close(&c);
}

/* "topk=100" and the like are refused with the rule, before anything runs. */
static void bad_shapes_are_refused(void **state)
{
    (void)state;
    const struct {
        const char *text, *message;
    } bad[] = {
        {"s_q=1,s_kv=64,h=1,topk=0,d_qk=576", "topk"},     {"s_q=1,s_kv=64,h=1,topk=100,d_qk=576", "topk"},
        {"s_q=1,s_kv=64,h=1,topk=64,d_qk=544", "d_qk"},    {"s_q=1,s_kv=0,h=1,topk=64,d_qk=576", "s_kv"},
        {"s_q=1,s_kv=64,h=1024,topk=64,d_qk=640", "d_qk"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t dim[RIDGE_MAX_AXES] = {0};
        struct ridge_error error = {0};
        assert_int_equal(shape_parse(family, bad[i].text, dim, &error), RIDGE_INVALID);
        assert_non_null(strstr(error.text, bad[i].message));
    }
}

/* Setup of the GPU variants that copy 16 bytes at a time, before it asks the driver. */
static void bad_buffers_are_refused(void **state)
{
    (void)state;
    static char memory[64] __attribute__((aligned(64)));
    static const char *const names[] = {[PREFILL_Q] = "q", [PREFILL_KV] = "kv", [PREFILL_OUT] = "out"};
    static const int rows[] = {PREFILL_Q, PREFILL_KV, PREFILL_OUT};
    const int64_t dim[] = {5, 95, 3, 128, 576};
    void *buffer[] = {memory, memory, memory, memory, memory, memory}, *made;
    size_t bytes[6] = {[PREFILL_INDICES] = 5 * 128 * 4};
    char message[256] = "", expected[256];
    struct ridge_call call = {
        .dim = dim, .buffer = buffer, .buffer_bytes = bytes, .error = message, .error_bytes = sizeof message};
    assert_int_equal(prefill_refuse_buffers(&call), 0);
    for (int i = 0; i < ridge_builtin_entry_count; i++) {
        const struct ridge_variant *variant = ridge_builtin_entries[i].variant;
        if (strcmp(ridge_builtin_entries[i].family, "mla_prefill_sparse") != 0 || variant->min_cc < 90)
            continue;
        for (int j = 0; j < 3; j++) {
            buffer[rows[j]] = memory + 8;
            assert_int_equal(variant->setup(&call, &made), 1);
            snprintf(expected, sizeof expected, "%s: address is 8 bytes beyond a multiple of 16: must be one",
                     names[rows[j]]);
            assert_string_equal(message, expected);
            buffer[rows[j]] = memory;
        }
        bytes[PREFILL_INDICES] = 2556;
        assert_int_equal(variant->setup(&call, &made), 1);
        assert_string_equal(message, "indices: 2556 bytes: must be at least 2560, s_q * topk of 4");
        bytes[PREFILL_INDICES] = 2560;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_scores_average_what_is_listed),
        cmocka_unit_test(out_of_range_is_no_key),
        cmocka_unit_test(naive_agrees_with_the_reference),
        cmocka_unit_test(rising_rises),
        cmocka_unit_test(poisoned_rows_are_not_named),
        cmocka_unit_test(bad_shapes_are_refused),
        cmocka_unit_test(bad_buffers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

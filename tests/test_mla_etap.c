/* SPDX-License-Identifier: Apache-2.0 */
/* What can be said of ETAP without a GPU: its plans and the reasons of those that it refuses, what its variants do not
 * support, and the reference of the family in FP16. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "bench/registry.h"
#include "kernels/mla_decode/mla_decode.h"
#include "tests/family_case.h"

extern const struct ridge_family ridge_family_mla_decode_f16;
static struct registry registry;

static int open_all(void **state)
{
    (void)state;
    return registry_open(&registry, NULL);
}

static int close_all(void **state)
{
    (void)state;
    registry_close(&registry);
    return 0;
}

/* NULL in a build without CUDA. */
static const struct ridge_variant *variant_of(const char *family, const char *label)
{
    for (int i = 0; i < registry.count; i++)
        if (strcmp(registry.entry[i]->family, family) == 0 && strcmp(registry.entry[i]->label, label) == 0)
            return registry.entry[i]->variant;
    return NULL;
}

static const int64_t narrow[] = {2, 1, 300, 16, 64}, wide[] = {2, 2, 300, 16, 64};

static void plans_are_those_that_fit(void **state)
{
    (void)state;
    const struct ridge_variant *etap = variant_of("mla_decode", "07_etap");
    const struct ridge_device device = {.kind = RIDGE_CUDA, .sms = 132, .cc = 90, .smem_optin_bytes = 232448};
    char plan[8][RIDGE_PLAN_BYTES];
    if (!etap)
        skip();
    assert_int_equal(etap->plans(narrow, &device, plan, 8), 4);
    assert_string_equal(plan[0], "keys64-warps8");
    assert_string_equal(plan[3], "keys128-warps4");
    assert_int_equal(etap->plans(narrow, &device, plan, 1), 1);
    assert_int_equal(etap->plans(wide, &device, plan, 8), 1);
    assert_string_equal(plan[0], "keys64-warps8");
}

static void refused_plans_say_why(void **state)
{
    (void)state;
    const struct {
        const int64_t *dim;
        const char *plan, *reason;
    } bad[] = {
        {narrow, "keys192-warps8", "192 keys of 1152 bytes"},
        {narrow, "keys256-warps8", "are 313344 bytes, and a block has 232448"},
        {narrow, "keys512-warps4", "are 608256 bytes, and a block has 232448"},
        {narrow, "keys2147483584-warps8", "and a block has 232448"},
        {narrow, "keys64-warps6", "W 4 or 8"},
        {narrow, "keys96-warps8", "K 64 or 128"},
        {narrow, "keys64-warps8x", "expected keysK-warpsW"},
        {narrow, "keys-64-warps8", "expected keysK-warpsW"},
        {narrow, "", "expected keysK-warpsW"},
        {wide, "keys128-warps8", "32 rows have keys64-warps8"},
    };
    const char *const family[] = {"mla_decode", "mla_decode_f16"};
    for (size_t i = 0; i < 2 * sizeof bad / sizeof *bad; i++) {
        const struct ridge_variant *etap = variant_of(family[i % 2], "07_etap");
        char message[512] = "";
        void *kept = &message;
        struct ridge_device device = {.kind = RIDGE_CUDA, .sms = 132, .cc = 90, .smem_optin_bytes = 232448};
        struct ridge_call call = {
            .dim = bad[i / 2].dim, .device = &device, .error = message, .error_bytes = sizeof message};
        if (!etap)
            skip();
        device.plan = bad[i / 2].plan;
        assert_int_equal(etap->setup(&call, &kept), 1);
        assert_null(kept);
        if (!strstr(message, bad[i / 2].reason))
            fail_msg("plan %s: %s", bad[i / 2].plan, message);
    }
}

static void many_rows_and_small_pages_are_not_supported(void **state)
{
    (void)state;
    const struct ridge_device device = {.kind = RIDGE_CUDA, .sms = 132, .cc = 90};
    const int64_t rows[] = {1, 2, 64, 65, 64}, page[] = {1, 1, 64, 16, 48}, most[] = {1, 1, 64, 128, 64};
    const char *const label[] = {"07_etap", "08_transposed"};
    for (int i = 0; i < 2; i++) {
        const struct ridge_variant *variant = variant_of("mla_decode", label[i]);
        if (!variant)
            skip();
        assert_non_null(strstr(variant->unsupported(rows, &device), "s_q * h above 128"));
        assert_non_null(strstr(variant->unsupported(page, &device), "page_size is not a multiple of 64"));
        assert_null(variant->unsupported(most, &device));
    }
}

/* q = 0: out is the mean of what is visible, lse the logarithm of how many keys that is. */
static void reference_in_f16_averages(void **state)
{
    (void)state;
    const int64_t dim[] = {2, 2, 50, 3, 16};
    struct family_case c;
    case_open(&c, &ridge_family_mla_decode_f16, dim, 0, NULL);
    memset(c.buffer[MLA_Q], 0, c.bytes[MLA_Q]);
    c.family->reference(dim, c.buffer, c.ref, c.mag);
    for (int64_t b = 0; b < 2; b++)
        for (int64_t r = 0; r < 6; r++) {
            const int64_t keys = mla_visible(dim, 50, r / 3);
            for (int column = 0; column < MLA_D_V; column++) {
                double mean = 0;
                for (int64_t key = 0; key < keys; key++) {
                    const uint16_t *kv = c.buffer[MLA_KV];
                    mean +=
                        f16_to_f32(kv[mla_key_offset(dim, c.buffer[MLA_BLOCK_TABLE], b, key) + column]) / (double)keys;
                }
                assert_true(fabs(c.ref[0][(b * 6 + r) * MLA_D_V + column] - mean) < 1e-12);
            }
            assert_true(fabs(c.ref[1][mla_lse_offset(dim, b, r)] - log((double)keys)) < 1e-12);
        }
    case_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_are_those_that_fit),
        cmocka_unit_test(refused_plans_say_why),
        cmocka_unit_test(many_rows_and_small_pages_are_not_supported),
        cmocka_unit_test(reference_in_f16_averages),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Every variant that lists plans keeps the contract (kernels/kernel.h), on every preset and small shape that it takes:
 * plans are whole, different words; the first one is what it runs without a plan, as far as its issued work tells. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/registry.h"

enum { MANY = 256 };

static const struct ridge_device h200 = {
    .kind = RIDGE_CUDA, .sms = 132, .cc = 90, .l2_bytes = 60 << 20, .smem_optin_bytes = 232448};

static struct ridge_work issued_by(const struct ridge_entry *entry, const int64_t *dim, const char *plan)
{
    struct ridge_work work = {0};
    struct ridge_device device = h200;
    device.plan = plan;
    entry->problem->work(dim, &work);
    if (entry->variant->issued)
        entry->variant->issued(dim, &device, &work);
    return work;
}

static void check_plans(const struct ridge_entry *entry, const int64_t *dim)
{
    char plan[MANY][RIDGE_PLAN_BYTES], fewer[2][RIDGE_PLAN_BYTES];
    const struct ridge_variant *variant = entry->variant;
    if (variant->unsupported && variant->unsupported(dim, &h200))
        return;
    memset(plan, 'x', sizeof plan);
    const int plans = variant->plans(dim, &h200, plan, MANY);
    assert_in_range(plans, 1, MANY - 1);
    assert_in_range(variant->plans(dim, &h200, fewer, 1), 1, 1);
    assert_string_equal(fewer[0], plan[0]);
    for (int i = 0; i < plans; i++) {
        assert_non_null(memchr(plan[i], 0, RIDGE_PLAN_BYTES));
        assert_true(plan[i][0] && !strpbrk(plan[i], " \t\n,"));
        for (int j = 0; j < i; j++)
            assert_string_not_equal(plan[i], plan[j]);
    }
    const struct ridge_work own = issued_by(entry, dim, NULL), first = issued_by(entry, dim, plan[0]);
    assert_memory_equal(&own, &first, sizeof own);
}

static void every_variant_with_plans(void **state)
{
    (void)state;
    const char *folder = getenv("RIDGE_PLUGIN_DIR");
    struct registry registry;
    struct ridge_error err = {""};
    char path[4096];
    int variants = 0;
    snprintf(path, sizeof path, "%s/plugin_plans.so", folder ? folder : ".");
    assert_int_equal(registry_open(&registry, &err), RIDGE_OK);
    assert_int_equal(registry_load(&registry, path, &err), RIDGE_OK);
    for (int i = 0; i < registry.count; i++) {
        const struct ridge_entry *entry = registry.entry[i];
        const struct ridge_family *family = entry->problem;
        if (!entry->variant->plans)
            continue;
        variants++;
        for (int j = 0; j < family->shapes; j++)
            check_plans(entry, family->shape[j].dim);
        for (int j = 0; j < family->check_dims; j++)
            check_plans(entry, family->check_dim[j]);
    }
    assert_true(variants >= 3);
    registry_close(&registry);
}

/* A plan that is none is refused by setup, or launch where there is none, which names it before a buffer or the driver
 * is touched. */
static void refuses(const struct ridge_entry *entry, const int64_t *dim, const char *plan)
{
    char message[256] = "";
    struct ridge_device device = h200;
    device.plan = plan;
    void *const buffer[RIDGE_MAX_BUFFERS] = {NULL};
    struct ridge_call call = {
        .dim = dim, .buffer = buffer, .device = &device, .error = message, .error_bytes = sizeof message};
    const struct ridge_variant *variant = entry->variant;
    const int status = variant->setup ? variant->setup(&call, &call.state) : variant->launch(&call);
    const char *inner = strchr(plan, ':'); /* of a variant that chooses among others */
    if (status == 0 || !strstr(message, "plan") || (!strstr(message, plan) && !(inner && strstr(message, inner + 1))))
        fail_msg("%s_%s, plan '%s': \"%s\"", entry->family, entry->label, plan, message);
}

static void plans_that_are_none(void **state)
{
    (void)state;
    static const char *const none[] = {"nonsense", "0",  "-1",        "128x",           "0x0:0x0",
                                       "99x99",    "%s", "1x1:1x1:1", "128x256:2x1:4x", "99999999999999999999"};
    struct registry registry;
    struct ridge_error err = {""};
    assert_int_equal(registry_open(&registry, &err), RIDGE_OK);
    for (int i = 0; i < registry.count; i++) {
        const struct ridge_entry *entry = registry.entry[i];
        for (int j = 0; entry->variant->plans && j < entry->problem->check_dims; j++) {
            const int64_t *dim = entry->problem->check_dim[j];
            if (entry->variant->unsupported && entry->variant->unsupported(dim, &h200))
                continue;
            char listed[1][RIDGE_PLAN_BYTES], longer[RIDGE_PLAN_BYTES + 8];
            for (size_t k = 0; k < sizeof none / sizeof *none; k++)
                refuses(entry, dim, none[k]);
            assert_int_equal(entry->variant->plans(dim, &h200, listed, 1), 1);
            snprintf(longer, sizeof longer, "%sx", listed[0]);
            refuses(entry, dim, longer);
        }
    }
    registry_close(&registry);
}

static const struct ridge_entry *found(const struct registry *registry, const char *family, const char *label)
{
    for (int i = 0; i < registry->count; i++)
        if (strcmp(registry->entry[i]->family, family) == 0 && strcmp(registry->entry[i]->label, label) == 0)
            return registry->entry[i];
    return NULL;
}

struct expected {
    int64_t dim[3];
    const char *plan; /* how it begins */
};

/* A variant that chooses a schedule for every shape; and a plan that names none is refused before anything is set up.
 */
static void check_choice(const char *family, const char *label, const struct expected *expected, size_t count,
                         const char *rule)
{
    struct registry registry;
    struct ridge_error err = {""};
    assert_int_equal(registry_open(&registry, &err), RIDGE_OK);
    const struct ridge_entry *entry = found(&registry, family, label);
    for (size_t i = 0; entry && i < count; i++) {
        char plan[1][RIDGE_PLAN_BYTES];
        assert_int_equal(entry->variant->plans(expected[i].dim, &h200, plan, 1), 1);
        assert_memory_equal(plan[0], expected[i].plan, strlen(expected[i].plan));
    }
    static const char *const bad[] = {"7:128x256:2x1", "128x256:2x1", "", "12", "x"};
    for (size_t i = 0; entry && i < sizeof bad / sizeof *bad; i++) {
        char message[256] = "";
        struct ridge_device device = h200;
        device.plan = bad[i];
        struct ridge_call call = {
            .dim = expected[1].dim, .device = &device, .error = message, .error_bytes = sizeof message};
        assert_int_not_equal(entry->variant->setup(&call, &call.state), 0);
        assert_non_null(strstr(message, rule));
    }
    registry_close(&registry);
}

/* The schedules that were the fastest on an H200. */
static void schedules_by_shape(void **state)
{
    (void)state;
    static const struct expected bf16[] = {
        {{64, 7168, 2048}, "8:"},
        {{4096, 4096, 7168}, "9:128x256"},
        {{4096, 2112, 7168}, "10:192x176"},
        {{4096, 576, 7168}, "11:128x144"},
        {{4096, 32768, 512}, "11:128x192"},
        {{4096, 7168, 16384}, "12:256x176"},
        {{4096, 24576, 1536}, "12:256x176"},
        {{8192, 8192, 8192}, "12:256x168"},
    };
    static const struct expected fp8_block[] = {
        {{64, 2112, 7168}, "13:64:2"},  {{64, 576, 7168}, "13:64:"},         {{64, 24576, 1536}, "13:64:1:128"},
        {{64, 32768, 512}, "15:"},      {{64, 7168, 16384}, "13:64:1"},      {{64, 4096, 7168}, "13:64:2"},
        {{64, 7168, 2048}, "13:64:1"},  {{128, 2112, 7168}, "13:64:3"},      {{128, 576, 7168}, "13:64:8"},
        {{128, 24576, 1536}, "15:"},    {{128, 32768, 512}, "15:"},          {{128, 7168, 16384}, "15:"},
        {{128, 4096, 7168}, "13:64:2"}, {{128, 7168, 2048}, "15:"},          {{256, 24576, 1536}, "14:"},
        {{257, 576, 7168}, "14:"},      {{4096, 7168, 16384}, "14:256x128"},
    };
    check_choice("gemm_bf16", "13_chosen", bf16, sizeof bf16 / sizeof *bf16,
                 "not 8: to 12: before a plan of that variant");
    check_choice("gemm_fp8_block", "16_chosen", fp8_block, sizeof fp8_block / sizeof *fp8_block,
                 "not 13: to 17: before a plan of that variant");
}

/* A plan of a schedule that does not take the shape is refused with that schedule's reason. */
static void schedules_of_other_shapes(void **state)
{
    (void)state;
    static const int64_t dim[] = {4096, 4096, 4096};
    static const struct {
        const char *family, *label, *plan;
    } bad[] = {
        {"gemm_bf16", "13_chosen", "8:64:1:64:8"},
        {"gemm_fp8_block", "16_chosen", "13:64:1:64:8"},
        {"gemm_fp8_block", "16_chosen", "15:128:128:1:4"},
    };
    struct registry registry;
    struct ridge_error err = {""};
    assert_int_equal(registry_open(&registry, &err), RIDGE_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const struct ridge_entry *entry = found(&registry, bad[i].family, bad[i].label);
        char message[256] = "", begins[64];
        struct ridge_device device = h200;
        device.plan = bad[i].plan;
        struct ridge_call call = {.dim = dim, .device = &device, .error = message, .error_bytes = sizeof message};
        snprintf(begins, sizeof begins, "plan %s: m > ", bad[i].plan);
        if (entry && (entry->variant->setup(&call, &call.state) == 0 || strncmp(message, begins, strlen(begins)) != 0))
            fail_msg("%s_%s: \"%s\" instead of \"%s...\"", bad[i].family, bad[i].label, message, begins);
    }
    registry_close(&registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_variant_with_plans),
                                       cmocka_unit_test(plans_that_are_none), cmocka_unit_test(schedules_by_shape),
                                       cmocka_unit_test(schedules_of_other_shapes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

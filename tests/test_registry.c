/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bench/registry.h"

static void plugin_path(char *buf, size_t bytes, const char *name)
{
    const char *folder = getenv("RIDGE_PLUGIN_DIR");
    snprintf(buf, bytes, "%s/plugin_%s.so", folder ? folder : ".", name);
}

static int load(struct registry *registry, const char *name, struct ridge_error *err)
{
    char path[1024];
    plugin_path(path, sizeof path, name);
    return registry_load(registry, path, err);
}

static void must_load(struct registry *registry, const char *name)
{
    struct ridge_error err = {""};
    if (load(registry, name, &err))
        fail_msg("%s", err.text);
}

static const struct ridge_entry *find(const struct registry *registry, const char *name)
{
    char buf[128];
    for (int i = 0; i < registry->count; i++) {
        registry_name(registry->entry[i], buf, sizeof buf);
        if (strcmp(buf, name) == 0)
            return registry->entry[i];
    }
    return NULL;
}

static void assert_sorted(const struct registry *registry)
{
    for (int i = 1; i < registry->count; i++) {
        const struct ridge_entry *a = registry->entry[i - 1], *b = registry->entry[i];
        int order = strcmp(a->family, b->family);
        assert_true(order < 0 || (order == 0 && strcmp(a->label, b->label) < 0));
    }
}

static void builtin_variants_are_sorted_and_complete(void **state)
{
    (void)state;
    struct registry registry;
    assert_int_equal(registry_open(&registry, NULL), RIDGE_OK);
    assert_int_equal(registry.count, ridge_builtin_entry_count);
    assert_sorted(&registry);
    for (int i = 0; i < registry.count; i++) {
        const struct ridge_entry *entry = registry.entry[i];
        const struct ridge_family *family = entry->problem;
        if (!family->problem || !family->reference || !family->work || family->axes < 1 || family->buffers < 1)
            fail_msg("family %s is not complete", entry->family);
        if (!entry->variant->idea || !entry->variant->source || !entry->variant->changes || !entry->variant->launch)
            fail_msg("%s is not complete", entry->file);
        if ((entry->label[0] == 'h') != (entry->variant->kind == RIDGE_HOST))
            fail_msg("%s: the kind is not that of its name", entry->file);
    }
    registry_close(&registry);
    assert_int_equal(registry.count, 0);
}

static void a_plugin_adds_its_variants_in_order(void **state)
{
    (void)state;
    struct registry registry;
    assert_int_equal(registry_open(&registry, NULL), RIDGE_OK);
    must_load(&registry, "example");
    assert_int_equal(registry.count, ridge_builtin_entry_count + 2);
    assert_sorted(&registry);

    const struct ridge_entry *entry = find(&registry, "example_saxpy_h01_simple");
    assert_non_null(entry);
    float x[] = {1, 2, 3}, y[] = {10, 20, 30}, out[3];
    void *buffer[] = {x, y, out};
    const int64_t dim[] = {3};
    struct ridge_call call = {.dim = dim, .buffer = buffer};
    assert_int_equal(entry->variant->launch(&call), 0);
    assert_true(out[0] == 12 && out[1] == 24 && out[2] == 36);
    struct ridge_work work = {0};
    entry->problem->work(dim, &work);
    assert_true(work.bytes_hbm_read == 24 && work.flop_fp32 == 6);
    registry_close(&registry);
}

static void a_variant_alone_joins_a_known_family(void **state)
{
    (void)state;
    struct registry registry;
    struct ridge_error err;
    assert_int_equal(registry_open(&registry, NULL), RIDGE_OK);
    assert_int_equal(load(&registry, "variant", &err), RIDGE_INVALID);
    assert_non_null(strstr(err.text, "there is no family example_saxpy"));
    assert_int_equal(registry.count, ridge_builtin_entry_count);

    must_load(&registry, "example");
    must_load(&registry, "variant");
    assert_int_equal(registry.plugins, 2);
    const struct ridge_entry *entry = find(&registry, "example_saxpy_h04_backwards");
    assert_non_null(entry);
    assert_ptr_equal(entry->problem, find(&registry, "example_saxpy_h01_simple")->problem);
    assert_sorted(&registry);
    registry_close(&registry);
}

static void another_abi_version_is_refused(void **state)
{
    (void)state;
    struct registry registry;
    struct ridge_error err;
    char theirs[32], ours[32];
    snprintf(theirs, sizeof theirs, "version %d,", RIDGE_ABI_VERSION + 41);
    snprintf(ours, sizeof ours, "has version %d", RIDGE_ABI_VERSION);
    assert_int_equal(registry_open(&registry, NULL), RIDGE_OK);
    assert_int_equal(load(&registry, "wrong_abi", &err), RIDGE_INVALID);
    assert_non_null(strstr(err.text, "plugin_wrong_abi.so"));
    assert_non_null(strstr(err.text, theirs));
    assert_non_null(strstr(err.text, ours));
    assert_int_equal(registry.count, ridge_builtin_entry_count);
    registry_close(&registry);
}

static void a_taken_label_names_both_files(void **state)
{
    (void)state;
    struct registry registry;
    struct ridge_error err;
    assert_int_equal(registry_open(&registry, NULL), RIDGE_OK);
    must_load(&registry, "example");
    assert_int_equal(load(&registry, "duplicate", &err), RIDGE_INVALID);
    assert_non_null(strstr(err.text, "example_saxpy_h01_simple"));
    assert_non_null(strstr(err.text, "plugin_duplicate.c"));
    assert_non_null(strstr(err.text, "plugin_example.c"));
    assert_int_equal(registry.count, ridge_builtin_entry_count + 2);
    assert_null(find(&registry, "example_saxpy_h03_new"));
    assert_int_equal(load(&registry, "example", &err), RIDGE_INVALID); /* the same file again */
    assert_int_equal(registry.plugins, 1);
    registry_close(&registry);
}

static void files_that_are_no_plugins(void **state)
{
    (void)state;
    struct registry registry;
    struct ridge_error err;
    assert_int_equal(registry_open(&registry, NULL), RIDGE_OK);
    assert_int_equal(registry_load(&registry, "/nonexistent/libmine.so", &err), RIDGE_INVALID);
    assert_non_null(strstr(err.text, "/nonexistent/libmine.so"));
    assert_int_equal(registry_load(&registry, "libm.so.6", &err),
                     RIDGE_INVALID); /* a file name, not a system library */
    assert_non_null(strstr(err.text, "./libm.so.6"));
    must_load(&registry, "example");
    assert_int_equal(load(&registry, "bad_label", &err), RIDGE_INVALID);
    assert_non_null(strstr(err.text, "fastest"));
    assert_int_equal(registry.count, ridge_builtin_entry_count + 2);
    registry_close(&registry);
}

/* What plugin_faulty.c breaks when it is told to, and what the message must say. */
static void tables_that_would_crash_are_refused(void **state)
{
    (void)state;
    static const char *const faults[][2] = {
        {"reference", "lacks its problem, reference or work"},
        {"work", "lacks its problem, reference or work"},
        {"problem", "lacks its problem, reference or work"},
        {"no_axes", "no axes or too many"},
        {"many_axes", "no axes or too many"},
        {"axis_twice", "two axes of one name"},
        {"axis_null", "an axis whose name"},
        {"axis_dot", "an axis whose name"},
        {"no_value", "an axis that no value fits"},
        {"no_buffers", "no buffers or too many"},
        {"many_buffers", "no buffers or too many"},
        {"no_count", "a buffer without name or count"},
        {"dtype", "unknown dtype, role or fill"},
        {"fill", "but no fill"},
        {"tolerance", "negative or NaN"},
        {"tolerance_nan", "negative or NaN"},
        {"no_presets", "lacks the shapes"},
        {"preset_name", "a preset without name"},
        {"level", "a preset without name, level"},
        {"check_dims", "lacks the shapes"},
        {"idea", "lacks its launch or its idea"},
        {"launch", "lacks its launch or its idea"},
        {"kind", "unknown kind"},
        {"offset", "an offset beyond"},
        {"variant", "lacks its family, label, file or variant"},
        {"family_name", "../faulty"},
        {"family_long", "at most 63"},
        {"label_quote", "h01_it's"},
        {"label_upper", "h01_Zeros"},
        {"known_family", "other axes or buffers"},
        {"entries", "without variants"},
    };
    struct registry registry;
    struct ridge_error err;
    assert_int_equal(registry_open(&registry, NULL), RIDGE_OK);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        setenv("RIDGE_TEST_FAULT", faults[i][0], 1);
        if (load(&registry, "faulty", &err) != RIDGE_INVALID || !strstr(err.text, faults[i][1]))
            fail_msg("%s: %s", faults[i][0], err.text);
        assert_int_equal(registry.count, ridge_builtin_entry_count);
    }
    unsetenv("RIDGE_TEST_FAULT");
    must_load(&registry, "faulty");
    registry_close(&registry);
}

static void globs_choose_variants(void **state)
{
    (void)state;
    const struct ridge_entry entry = {.family = "gemm_f32", .label = "04_async_copy"};
    char name[64];
    registry_name(&entry, name, sizeof name);
    assert_string_equal(name, "gemm_f32_04_async_copy");
    assert_true(registry_match(&entry, NULL, NULL));
    assert_true(registry_match(&entry, "gemm_*", NULL));
    assert_false(registry_match(&entry, "gemm", NULL));
    assert_true(registry_match(&entry, NULL, "04_*"));
    assert_true(registry_match(&entry, NULL, "gemm_f32_0[34]*"));
    assert_true(registry_match(&entry, "gemm_f32", "*async*"));
    assert_false(registry_match(&entry, "rope", "*async*"));
    assert_false(registry_match(&entry, "gemm_f32", "05*"));
    assert_true(registry_match(&entry, "rope|gemm_f32", "05*|04*|06*"));
    assert_true(registry_match(&entry, NULL, "|04_async_copy"));
    assert_false(registry_match(&entry, "rope|gemm", NULL));
    assert_false(registry_match(&entry, NULL, "05*|06*"));
}

static void a_glob_without_a_match_is_found(void **state)
{
    (void)state;
    struct registry registry;
    struct ridge_error err;
    assert_int_equal(registry_open(&registry, &err), RIDGE_OK);
    assert_null(registry_unmatched(&registry, NULL, false));
    assert_null(registry_unmatched(&registry, "gemm_f32|mla_*", false));
    assert_null(registry_unmatched(&registry, "h01_naive|gemm_f32_h0*", true));
    assert_string_equal(registry_unmatched(&registry, "gemm_f32|nosuch|rope", false), "nosuch|rope");
    assert_string_equal(registry_unmatched(&registry, "h01_naive|", true), "");
    assert_string_equal(registry_unmatched(&registry, "gemm_f32", true), "gemm_f32"); /* a family is no variant */
    registry_close(&registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(builtin_variants_are_sorted_and_complete),
        cmocka_unit_test(a_plugin_adds_its_variants_in_order),
        cmocka_unit_test(a_variant_alone_joins_a_known_family),
        cmocka_unit_test(another_abi_version_is_refused),
        cmocka_unit_test(a_taken_label_names_both_files),
        cmocka_unit_test(files_that_are_no_plugins),
        cmocka_unit_test(tables_that_would_crash_are_refused),
        cmocka_unit_test(globs_choose_variants),
        cmocka_unit_test(a_glob_without_a_match_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

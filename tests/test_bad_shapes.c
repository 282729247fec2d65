/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes that no family takes, as --shape has them: every axis of every family below its least value, above its largest
 * and off its multiple, zero and negative ones among them. The message names axis, value and rule; the exit code is
 * that of invalid input (test_cli.sh). Then counts beyond what a grid has in its second dimension. None of it needs a
 * GPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench/registry.h"
#include "bench/shape.h"

static const struct ridge_device h200 = {
    .kind = RIDGE_CUDA, .sms = 132, .cc = 90, .l2_bytes = 60 << 20, .smem_optin_bytes = 232448};

static void refused(const struct ridge_entry *entry, int axis, int64_t value)
{
    const struct ridge_axis *a = &entry->problem->axis[axis];
    struct ridge_error err = {""};
    int64_t dim[RIDGE_MAX_AXES], before[RIDGE_MAX_AXES];
    char text[64], says[128];
    memcpy(dim, entry->problem->check_dim[0], sizeof dim);
    memcpy(before, dim, sizeof dim);
    snprintf(text, sizeof text, "%s=%" PRId64, a->name, value);
    if (value >= a->min && value <= a->max)
        snprintf(says, sizeof says, "shape %s: %s must be a multiple of %" PRId64, text, a->name, a->multiple);
    else
        snprintf(says, sizeof says, "shape %s: %s must be in %" PRId64 " to %" PRId64, text, a->name, a->min, a->max);
    if (shape_parse(entry->problem, text, dim, &err) != RIDGE_INVALID || strcmp(err.text, says) != 0)
        fail_msg("%s, %s: \"%s\" instead of \"%s\"", entry->family, text, err.text, says);
    assert_memory_equal(dim, before, sizeof dim);
    dim[axis] = value;
    assert_int_equal(shape_validate(entry->problem, dim, &err), RIDGE_INVALID);
    assert_string_equal(err.text, says);
}

static void sizes_off_the_axes(void **state)
{
    (void)state;
    int families = 0;
    for (int i = 0; i < ridge_builtin_entry_count; i++) {
        const struct ridge_entry *entry = &ridge_builtin_entries[i];
        if (i && ridge_builtin_entries[i - 1].problem == entry->problem)
            continue;
        families++;
        for (int axis = 0; axis < entry->problem->axes; axis++) {
            const struct ridge_axis *a = &entry->problem->axis[axis];
            const int64_t bad[] = {0, -1, a->min - 1, a->max + 1, INT64_MIN, INT64_MAX};
            for (size_t j = 0; j < sizeof bad / sizeof *bad; j++)
                if (bad[j] < a->min || bad[j] > a->max)
                    refused(entry, axis, bad[j]);
            if (a->multiple > 1) {
                refused(entry, axis, (a->min + a->multiple - 1) / a->multiple * a->multiple + 1);
                refused(entry, axis, a->max / a->multiple * a->multiple - 1);
            }
        }
    }
    assert_true(families >= 10); /* that run on a CPU */
}

/* What takes one query takes 70000. */
static void many_queries(void **state)
{
    (void)state;
    static const struct {
        const char *family;
        int axis;
        int64_t dim[RIDGE_MAX_AXES];
    } asked[] = {
        {"mla_decode_sparse_fp8", 1, {1, 1, 128, 64, 4096, 64}},
        {"mla_decode_sparse_512", 1, {1, 1, 128, 64, 4096, 64, 584}},
        {"mla_decode_sparse_512", 1, {1, 1, 128, 64, 4096, 64, 528}},
        {"mla_decode_sparse_512", 1, {1, 1, 128, 64, 4096, 64, 288}},
        {"mla_prefill_sparse", 0, {1, 4096, 128, 64, 576}},
    };
    for (size_t j = 0; j < sizeof asked / sizeof *asked; j++)
        for (int i = 0; i < ridge_builtin_entry_count; i++) {
            const struct ridge_entry *entry = &ridge_builtin_entries[i];
            struct ridge_error err = {""};
            int64_t dim[RIDGE_MAX_AXES];
            memcpy(dim, asked[j].dim, sizeof dim);
            if (strcmp(entry->family, asked[j].family) != 0 || entry->variant->min_cc < 90 ||
                (entry->variant->unsupported && entry->variant->unsupported(dim, &h200)))
                continue;
            dim[asked[j].axis] = 70000;
            assert_int_equal(shape_validate(entry->problem, dim, &err), RIDGE_OK);
            const char *why = entry->variant->unsupported ? entry->variant->unsupported(dim, &h200) : NULL;
            if (why)
                fail_msg("%s_%s, 70000 queries: %s", entry->family, entry->label, why);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_off_the_axes),
        cmocka_unit_test(many_queries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

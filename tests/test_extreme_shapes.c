/* SPDX-License-Identifier: Apache-2.0 */
/* Every combination of least, small and largest sizes that a family allows: what variants say of it beforehand (reason
 * to skip, plans, work, workspace) is finite, and no variant crashes over it. None of it needs a GPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/registry.h"
#include "bench/shape.h"

static const struct ridge_device h200 = {
    .kind = RIDGE_CUDA, .sms = 132, .cc = 90, .l2_bytes = 60 << 20, .smem_optin_bytes = 232448};

static void hold(const struct ridge_entry *entry, const int64_t *dim)
{
    const struct ridge_variant *variant = entry->variant;
    struct ridge_device device = h200;
    struct ridge_work work = {0};
    char name[256], plan[2][RIDGE_PLAN_BYTES];
    device.kind = variant->kind;
    shape_name(entry->problem, dim, name, sizeof name);
    if (variant->unsupported && variant->unsupported(dim, &device))
        return;
    entry->problem->work(dim, &work);
    if (variant->issued)
        variant->issued(dim, &device, &work);
#define HOLD(key)                                                                                                      \
    if (!(work.key >= 0) || !isfinite(work.key))                                                                       \
        fail_msg("%s_%s %s: " #key " is %g", entry->family, entry->label, name, work.key);
    RIDGE_WORK_KEYS(HOLD)
#undef HOLD
    if (variant->workspace_bytes && variant->workspace_bytes(dim, &device) > (size_t)1 << 60)
        fail_msg("%s_%s %s: a workspace of %zu bytes", entry->family, entry->label, name,
                 variant->workspace_bytes(dim, &device));
    if (variant->plans && variant->plans(dim, &device, plan, 2) < 1)
        fail_msg("%s_%s %s: no plan", entry->family, entry->label, name);
}

/* Sizes of a GPU's memory: what does not fit is refused before variants are asked. */
static bool fits(const struct ridge_family *family, const int64_t *dim)
{
    struct ridge_error err;
    return shape_validate(family, dim, &err) == RIDGE_OK && shape_bytes(family, dim) < 141e9;
}

static void all_combinations(void **state)
{
    (void)state;
    int held = 0;
    for (int i = 0; i < ridge_builtin_entry_count; i++) {
        const struct ridge_entry *entry = &ridge_builtin_entries[i];
        const struct ridge_family *family = entry->problem;
        int combinations = 1;
        for (int axis = 0; axis < family->axes; axis++)
            combinations *= 4;
        for (int c = 0; c < combinations; c++) {
            int64_t dim[RIDGE_MAX_AXES] = {0};
            for (int axis = 0, rest = c; axis < family->axes; axis++, rest /= 4) {
                const struct ridge_axis *a = &family->axis[axis];
                const int64_t least = (a->min + a->multiple - 1) / a->multiple * a->multiple;
                const int64_t size[] = {least, family->check_dim[0][axis], family->shape[0].dim[axis],
                                        a->max / a->multiple * a->multiple};
                dim[axis] = size[rest % 4];
            }
            if (!fits(family, dim))
                continue;
            hold(entry, dim);
            held++;
        }
    }
    assert_true(held > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_combinations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Which presets a level selects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/session.h"

static int64_t cache_bytes;

static void work(const int64_t *dim, struct ridge_work *work)
{
    *(dim[0] >= 4 * cache_bytes ? &work->bytes_hbm_read : &work->bytes_l2) = (double)dim[0];
}

static const struct ridge_shape shapes[] = {
    {"quick", RIDGE_QUICK, RIDGE_HOST, {100}},  {"standard", RIDGE_STANDARD, RIDGE_HOST, {200}},
    {"gpu", RIDGE_FULL, RIDGE_CUDA, {9999}},    {"full", RIDGE_FULL, RIDGE_HOST, {1000}},
    {"larger", RIDGE_FULL, RIDGE_HOST, {2000}},
};
static const struct ridge_family family = {
    .axes = 1, .axis = {{"bytes", 1, 1 << 20, 1, ""}}, .shape = shapes, .shapes = 5, .work = work};

static void expect(int64_t cache, enum ridge_level level, const char *selected)
{
    char got[64];
    int used = 0;
    const struct session_options options = {.level = level};
    cache_bytes = cache;
    for (int i = 0; i < family.shapes; i++)
        if (session_selects(&options, &family, &shapes[i]))
            used += snprintf(got + used, sizeof got - (size_t)used, "%s ", shapes[i].name);
    assert_string_equal(got, selected);
}

static void a_working_set_beyond_the_caches_is_in_the_standard_level(void **state)
{
    (void)state;
    expect(50, RIDGE_STANDARD, "quick standard ");
    expect(51, RIDGE_STANDARD, "quick standard full ");
    expect(300, RIDGE_STANDARD, "quick standard larger ");
    expect(600, RIDGE_STANDARD, "quick standard ");
    expect(300, RIDGE_QUICK, "quick ");
    expect(300, RIDGE_FULL, "quick standard gpu full larger ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_working_set_beyond_the_caches_is_in_the_standard_level)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What mla_decode and its variants refuse, and in which words. None of it needs a GPU; lengths and pages are data,
 * which host variants refuse (test_mla_decode.c) and GPU variants take as the nearest end (gpu_mla_lengths.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "bench/registry.h"
#include "bench/shape.h"
#include "kernels/mla_decode/mla_decode.h"

extern const struct ridge_family ridge_family_mla_decode;
static const struct ridge_device h200 = {
    .kind = RIDGE_CUDA, .sms = 132, .cc = 90, .l2_bytes = 60 << 20, .smem_optin_bytes = 232448};

static void sizes_outside_the_axes(void **state)
{
    (void)state;
    static const struct {
        int64_t dim[5];
        const char *says;
    } bad[] = {
        {{1, 0, 64, 16, 64}, "s_q=0: s_q must be in"},
        {{1, -1, 64, 16, 64}, "s_q=-1: s_q must be in"},
        {{0, 1, 64, 16, 64}, "b=0: b must be in"},
        {{65537, 1, 64, 16, 64}, "b=65537: b must be in"},
        {{1, 1, 0, 16, 64}, "s_k=0: s_k must be in"},
        {{1, 1, 64, 0, 64}, "h=0: h must be in"},
        {{1, 1, 64, 1025, 64}, "h=1025: h must be in"},
        {{1, 1, 64, 16, 0}, "page_size=0: page_size must be in"},
        {{1, 1, 64, 16, 1025}, "page_size=1025: page_size must be in"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct ridge_error err = {""};
        assert_int_equal(shape_validate(&ridge_family_mla_decode, bad[i].dim, &err), RIDGE_INVALID);
        assert_non_null(strstr(err.text, bad[i].says));
    }
}

/* Calls `of` for each GPU variant; a build without CUDA has none. */
static void each_gpu_variant(void (*of)(const struct ridge_entry *entry, int step))
{
    for (int i = 0; i < ridge_builtin_entry_count; i++) {
        const struct ridge_entry *entry = &ridge_builtin_entries[i];
        if (strcmp(entry->family, "mla_decode") == 0 && entry->variant->kind == RIDGE_CUDA)
            of(entry, (entry->label[0] - '0') * 10 + entry->label[1] - '0');
    }
}

static const char *reason(const struct ridge_entry *entry, const int64_t *dim)
{
    return entry->variant->unsupported ? entry->variant->unsupported(dim, &h200) : NULL;
}

static void one_page_size(const struct ridge_entry *entry, int step)
{
    static const int64_t sizes[] = {1, 16, 48, 63, 65, 96, 1000};
    int64_t dim[] = {2, 1, 100, 16, 64};
    assert_null(reason(entry, dim));
    for (int size = 128; size <= 1024; size += 64) {
        dim[MLA_PAGE_SIZE] = size;
        assert_null(reason(entry, dim));
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        dim[MLA_PAGE_SIZE] = sizes[i];
        const char *why = reason(entry, dim);
        if (step < 4)
            assert_null(why);
        else if (!why || !strstr(why, "page_size is not a multiple of 64"))
            fail_msg("%s, page_size=%d: %s", entry->label, (int)sizes[i], why ? why : "supported");
    }
}

static void page_sizes(void **state)
{
    (void)state;
    each_gpu_variant(one_page_size);
}

/* Rows and requests that would need more than 65535 blocks along y are refused before a launch is. */
static void one_of_many_rows(const struct ridge_entry *entry, int step)
{
    const int64_t rows[] = {1, 1024, 1, 1024, 64}, requests[] = {65536, 1, 1, 1, 64};
    const char *why = reason(entry, rows);
    if (step < 30) /* side steps have limits of their own */
        assert_null(reason(entry, requests));
    if (step == 2 && (!why || !strstr(why, "65535")))
        fail_msg("%s, 1048576 rows: %s", entry->label, why ? why : "supported");
}

static void many_rows(void **state)
{
    (void)state;
    each_gpu_variant(one_of_many_rows);
}

/* Every count of heads and query tokens that models have, up to 512 requests and 524288 keys, has a fast variant. */
static int64_t asked[5];
static int found;

static void one_for_asked(const struct ridge_entry *entry, int step)
{
    found += step >= 4 && step < 90 && !reason(entry, asked);
}

static void shapes_of_models(void **state)
{
    (void)state;
#ifdef RIDGE_WITH_CUDA
    for (int h = 8; h <= 128; h *= 2)
        for (int s_q = 1; s_q <= 4; s_q++)
            for (int large = 0; large < 2; large++) {
                const int64_t dim[] = {large ? 512 : 1, s_q, large ? 4096 : 524288, h, 64};
                memcpy(asked, dim, sizeof asked);
                found = 0;
                each_gpu_variant(one_for_asked);
                if (found == 0)
                    fail_msg("no variant from 04 on for b=%d s_q=%d h=%d", (int)dim[0], s_q, h);
            }
#else
    (void)one_for_asked;
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_outside_the_axes),
        cmocka_unit_test(page_sizes),
        cmocka_unit_test(many_rows),
        cmocka_unit_test(shapes_of_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What the GEMM families and their variants refuse, and in which words: lengths of k that tensor copies cannot read,
 * addresses and rows off 16 bytes, too few scales. None of it needs a GPU. (Sizes: test_bad_shapes.c.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/registry.h"
#include "bench/shape.h"
#include "kernels/gemm_fp8_block/gemm_fp8_block.h"
#include "kernels/gemm_grouped_contiguous/gemm_grouped.h"
#ifdef RIDGE_WITH_CUDA
#include "kernels/support/tensor_map.h"
#endif

extern const struct ridge_family ridge_family_gemm_fp8_block;
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

/* A k whose rows do not start at multiples of 16 bytes is skipped with that reason, and by no variant silently. */
static void k_off_the_alignment(void **state)
{
    (void)state;
    static const struct ridge_device h200 = {
        .kind = RIDGE_CUDA, .sms = 132, .cc = 90, .l2_bytes = 60 << 20, .smem_optin_bytes = 232448};
    for (int i = 0; i < registry.count; i++) {
        const struct ridge_entry *entry = registry.entry[i];
        const bool bf16 = strcmp(entry->family, "gemm_bf16") == 0;
        const bool grouped =
            strcmp(entry->family, "gemm_grouped_contiguous") == 0 || strcmp(entry->family, "gemm_grouped_masked") == 0;
        if ((!bf16 && !grouped && strncmp(entry->family, "gemm_fp8_", 9) != 0) || entry->variant->min_cc < 90 ||
            strncmp(entry->label, "9", 1) == 0)
            continue;
        const int64_t step = bf16 ? 8 : 16;
        int64_t good[RIDGE_MAX_AXES] = {64, 64, 16 * step}, bad[RIDGE_MAX_AXES];
        if (grouped)
            memcpy(good, (const int64_t[]){2, 32, 64, 64, 16 * step}, 5 * sizeof *good);
        memcpy(bad, good, sizeof bad);
        bad[grouped ? GROUPED_K : 2]++;
        assert_non_null(entry->variant->unsupported);
        assert_null(entry->variant->unsupported(good, &h200));
        const char *reason = entry->variant->unsupported(bad, &h200);
        assert_non_null(reason);
        assert_non_null(strstr(reason, bf16 ? "k is not a multiple of 8" : "k is not a multiple of 16"));
        assert_non_null(strstr(reason, "16 bytes"));
    }
}

static void too_few_scales(void **state)
{
    (void)state;
    const int64_t dim[] = {130, 300, 513}; /* 5 blocks of k, 3 of n; rows of 132 scales */
    size_t bytes[5] = {0, 0, 5 * 132 * 4, 3 * 5 * 4, 0};
    char message[256] = "";
    const struct ridge_call call = {.dim = dim, .buffer_bytes = bytes, .error = message, .error_bytes = sizeof message};
    assert_int_equal(gemm_fp8_block_scales_refused(&call), 0);
    bytes[2] -= 4;
    assert_int_equal(gemm_fp8_block_scales_refused(&call), 1);
    assert_string_equal(message, "scale_a: 4 rows of 132 scales, but k=513 needs 5, one for each 128 of it");
    bytes[2] += 4;
    bytes[3] = 0;
    assert_int_equal(gemm_fp8_block_scales_refused(&call), 1);
    assert_string_equal(message, "scale_b: 0 rows of 5 scales, but n=300 needs 3, one for each 128 of it");
    const struct ridge_call unknown = {.dim = dim, .error = message, .error_bytes = sizeof message};
    assert_int_equal(gemm_fp8_block_scales_refused(&unknown), 0);
}

static void too_few_scales_of_groups(void **state)
{
    (void)state;
    const int64_t dim[] = {2, 32, 130, 300, 513}; /* 2 groups; 5 blocks of k, 3 of n; rows of 132 scales */
    for (int by_group = 0; by_group < 2; by_group++) {
        const size_t rows_a = by_group ? 10 : 5;
        size_t bytes[6] = {[GROUPED_SCALE_A] = rows_a * 132 * 4, [GROUPED_SCALE_B] = 6 * 5 * 4};
        char message[256] = "", expected[256];
        const struct ridge_call call = {
            .dim = dim, .buffer_bytes = bytes, .error = message, .error_bytes = sizeof message};
        assert_int_equal(gemm_grouped_scales_refused(&call, by_group), 0);
        bytes[GROUPED_SCALE_A] -= 4;
        assert_int_equal(gemm_grouped_scales_refused(&call, by_group), 1);
        snprintf(expected, sizeof expected,
                 "scale_a: %zu rows of 132 scales, but groups=2, n=300, k=513 need %zu, one for each 128 of k%s",
                 rows_a - 1, rows_a, by_group ? " and group" : "");
        assert_string_equal(message, expected);
        bytes[GROUPED_SCALE_A] += 4;
        bytes[GROUPED_SCALE_B] = 3 * 5 * 4; /* those of one group */
        assert_int_equal(gemm_grouped_scales_refused(&call, by_group), 1);
        assert_string_equal(
            message, "scale_b: 3 rows of 5 scales, but groups=2, n=300, k=513 need 6, one for each 128 of n and group");
    }
}

/* By every variant that copies scales, before the driver is asked. */
static void too_few_scales_for_variants(void **state)
{
    (void)state;
    static const char *const families[] = {"gemm_fp8_block", "gemm_grouped_contiguous", "gemm_grouped_masked"};
    static const struct ridge_device h200 = {
        .kind = RIDGE_CUDA, .sms = 132, .cc = 90, .l2_bytes = 60 << 20, .smem_optin_bytes = 232448};
    for (int i = 0; i < registry.count; i++) {
        const struct ridge_entry *entry = registry.entry[i];
        const struct ridge_family *family = entry->problem;
        int of = 0;
        while (of < 3 && strcmp(entry->family, families[of]) != 0)
            of++;
        if (of == 3 || entry->variant->min_cc < 90 || entry->label[0] == '9')
            continue;
        const int64_t plain[] = {64, 256, 512}, grouped[] = {2, 32, 64, 256, 512};
        for (int few = 0; few < family->buffers; few++) {
            void *buffer[RIDGE_MAX_BUFFERS] = {NULL};
            size_t bytes[RIDGE_MAX_BUFFERS];
            char message[256] = "", begins[64];
            const struct ridge_buffer *b = &family->buffer[few];
            const int64_t *dim = of ? grouped : plain;
            struct ridge_call call = {.dim = dim,
                                      .buffer = buffer,
                                      .buffer_bytes = bytes,
                                      .device = &h200,
                                      .error = message,
                                      .error_bytes = sizeof message};
            if (strncmp(b->name, "scale_", 6) != 0)
                continue;
            for (int j = 0; j < family->buffers; j++)
                bytes[j] = (size_t)family->buffer[j].count(dim) * dtype_bytes(family->buffer[j].dtype);
            bytes[few] -= 4;
            snprintf(begins, sizeof begins, "%s: ", b->name);
            if (entry->variant->setup(&call, &call.state) == 0 || strncmp(message, begins, strlen(begins)) != 0)
                fail_msg("%s_%s, %s too short: \"%s\"", entry->family, entry->label, b->name, message);
        }
    }
}

/* Padding of scale_a, between m and the next multiple of 4, holds NaN in every input, so that a check that passes says
 * that none of it reached D. */
static void padding_of_scales_is_nan(void **state)
{
    (void)state;
    const struct ridge_family *family = &ridge_family_gemm_fp8_block;
    const int64_t dim[RIDGE_MAX_AXES] = {5, 3, 257};
    void *buffer[RIDGE_MAX_BUFFERS] = {0};
    for (int i = 0; i < family->buffers; i++)
        buffer[i] = calloc((size_t)family->buffer[i].count(dim), dtype_bytes(family->buffer[i].dtype));
    for (int hard = 0; hard < 3; hard++) {
        family->fill(dim, hard, 1, buffer);
        const float *scale = buffer[2];
        for (int block = 0; block < 3; block++)
            for (int row = 0; row < 8; row++)
                assert_int_equal(isnan(scale[block * 8 + row]) != 0, row >= 5);
    }
    bool checked = false; /* some small shape has padding */
    for (int i = 0; i < family->check_dims; i++)
        checked = checked || family->check_dim[i][0] % 4;
    assert_true(checked);
    for (int i = 0; i < family->buffers; i++)
        free(buffer[i]);
}

#ifdef RIDGE_WITH_CUDA
/* Refused before the driver is asked. */
static void off_16_bytes(void **state)
{
    (void)state;
    static char memory[64] __attribute__((aligned(64)));
    char message[256] = "";
    const struct ridge_call call = {.error = message, .error_bytes = sizeof message};
    CUtensorMap map;
    struct tensor_map_matrix matrix = {RIDGE_BF16, memory + 8, 64, 64, 64, 64, 64, 128, "scale_a", false};
    assert_int_equal(tensor_map_encode(&call, &matrix, &map), 1);
    assert_non_null(strstr(message, "scale_a: address 0x"));
    assert_non_null(strstr(message, "8 bytes beyond a multiple of 16"));
    matrix.address = memory;
    matrix.pitch = 65;
    matrix.name = NULL;
    assert_int_equal(tensor_map_encode(&call, &matrix, &map), 1);
    assert_string_equal(message,
                        "matrix: rows of 65 elements are 130 bytes apart, and tensor copies need a multiple of 16");
    matrix.dtype = RIDGE_E4M3;
    matrix.pitch = 72;
    assert_int_equal(tensor_map_encode_grouped(&call, &matrix, 16, &map), 1);
    assert_non_null(strstr(message, "rows of 72 elements are 72 bytes apart"));
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(k_off_the_alignment),
        cmocka_unit_test(too_few_scales),
        cmocka_unit_test(too_few_scales_of_groups),
        cmocka_unit_test(too_few_scales_for_variants),
        cmocka_unit_test(padding_of_scales_is_nan),
#ifdef RIDGE_WITH_CUDA
        cmocka_unit_test(off_16_bytes),
#endif
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of tile and cluster for a grouped shape. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/gemm_grouped_contiguous/gemm_grouped_choice.h"

static const struct ridge_device h200 = {
    .kind = RIDGE_CUDA, .sms = 132, .cc = 90, .l2_bytes = 60 << 20, .smem_optin_bytes = 232448};

/* 256 x 128, 192 x 128, 128 x 192: bytes as the kernels have them. */
static const struct gemm_built built[] = {{256, 128, 384 * 128 + 1040, 16512, 0},
                                          {192, 128, 320 * 128 + 784, 49344, 0},
                                          {128, 192, 320 * 128 + 528, 49280, 0}};

static struct gemm_choice choose(int widest, int64_t groups, int64_t rows, int64_t n, int64_t k)
{
    const struct gemm_grouped_extent extent = {groups, rows, n, k};
    return gemm_grouped_choose(built, 3, widest, &extent, &h200);
}

static void tile_fits_the_rows_of_a_group(void **state)
{
    (void)state;
    unsetenv("RIDGE_GEMM_PLAN");
    assert_int_equal(choose(2, 1, 1024, 4096, 7168).tile, 0); /* 64 clusters: one wave */
    assert_int_equal(choose(2, 4, 256, 7168, 2048).tile, 0);
    assert_int_equal(choose(2, 32, 192, 6144, 7168).tile, 1);
    assert_int_equal(choose(2, 32, 192, 7168, 3072).tile, 1);
    assert_int_equal(choose(2, 8, 4096, 4096, 7168).tile, 0);
    assert_int_equal(choose(2, 32, 20, 6144, 7168).tile, 2);
}

static void clusters_stand_along_n(void **state)
{
    (void)state;
    unsetenv("RIDGE_GEMM_PLAN");
    for (int64_t rows = 1; rows < 5000; rows = rows * 3 + 1) {
        const struct gemm_choice wide = choose(2, 4, rows, 4096, 7168), alone = choose(1, 4, rows, 4096, 7168);
        assert_int_equal(wide.cluster_rows, 1);
        assert_int_equal(alone.cluster_rows * alone.cluster_columns, 1);
        assert_in_range(wide.stages, 4, GEMM_MAX_STAGES);
        assert_true(wide.band >= 1 && wide.band <= gemm_div_up(rows, built[wide.tile].rows));
    }
    assert_int_equal(choose(2, 4, 8192, 4096, 7168).cluster_columns, 2);
}

/* A forced plan holds where its cluster stands along n and is not too wide. */
static void forced_plans(void **state)
{
    (void)state;
    setenv("RIDGE_GEMM_PLAN", "128x192:1x2:3:5", 1);
    struct gemm_choice choice = choose(2, 1, 1024, 4096, 7168);
    assert_true(choice.tile == 2 && choice.cluster_columns == 2 && choice.stages == 3 && choice.band == 5);
    setenv("RIDGE_GEMM_PLAN", "128x192:2x1:3:5", 1);
    choice = choose(2, 1, 1024, 4096, 7168);
    assert_true(choice.tile == 0 && choice.cluster_rows == 1 && choice.stages == 4 && choice.band <= 4);
    setenv("RIDGE_GEMM_PLAN", "128x192:1x2:3:5", 1);
    choice = choose(1, 1, 1024, 4096, 7168);
    assert_true(choice.tile == 0 && choice.cluster_columns == 1 && choice.stages == 4);
    unsetenv("RIDGE_GEMM_PLAN");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tile_fits_the_rows_of_a_group),
        cmocka_unit_test(clusters_stand_along_n),
        cmocka_unit_test(forced_plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

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
static const struct gemm_built built[] = {{256, 128, 384 * 128 + 1040, 16512, 0, 0},
                                          {192, 128, 320 * 128 + 784, 49344, 0, 0},
                                          {128, 192, 320 * 128 + 528, 49280, 0, 0}};

static struct gemm_choice choose(int widest, int64_t groups, int64_t rows, int64_t n, int64_t k)
{
    const struct gemm_grouped_extent extent = {groups, rows, n, k};
    return gemm_grouped_choose(built, 3, widest, &extent, &h200);
}

static void tile_fits_the_rows_of_a_group(void **state)
{
    (void)state;
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
    for (int64_t rows = 1; rows < 5000; rows = rows * 3 + 1) {
        const struct gemm_choice wide = choose(2, 4, rows, 4096, 7168), alone = choose(1, 4, rows, 4096, 7168);
        assert_int_equal(wide.cluster_rows, 1);
        assert_int_equal(alone.cluster_rows * alone.cluster_columns, 1);
        assert_in_range(wide.stages, 4, GEMM_MAX_STAGES);
        assert_true(wide.band >= 1 && wide.band <= gemm_div_up(rows, built[wide.tile].rows));
    }
    assert_int_equal(choose(2, 4, 8192, 4096, 7168).cluster_columns, 2);
}

/* A plan holds where its cluster stands along n and is not too wide; setup refuses others by name. */
static void plans_are_obeyed_or_refused(void **state)
{
    (void)state;
    static const struct {
        const char *plan, *error; /* NULL: obeyed */
        int widest;
    } cases[] = {
        {"128x192:1x2:3:1", NULL, 2},
        {"128x192:2x1:3:1",
         "plan 128x192:2x1:3:1: the rows of a cluster may be of different groups, so it has one row of CTAs", 2},
        {"128x192:1x2:3:1", "plan 128x192:1x2:3:1: the cluster has more CTAs than this variant allows", 1},
        {"64x64:1x1", "plan 64x64:1x1: no such tile is compiled; tiles are 256x128 192x128 128x192", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct gemm_grouped_extent extent = {1, 1024, 4096, 7168};
        char error[256] = "";
        struct ridge_device device = h200;
        device.plan = cases[i].plan;
        const struct ridge_call call = {.device = &device, .error = error, .error_bytes = sizeof error};
        const bool refused = gemm_grouped_refused(&call, built, 3, cases[i].widest);
        const struct gemm_choice choice = gemm_grouped_choose(built, 3, cases[i].widest, &extent, &device);
        assert_int_equal(refused, cases[i].error != NULL);
        if (refused)
            assert_string_equal(error, cases[i].error);
        else
            assert_true(choice.tile == 2 && choice.cluster_columns == 2 && choice.stages == 3 && choice.band == 1);
    }
}

static void plans_are_listed_once(void **state)
{
    (void)state;
    const struct gemm_grouped_extent extent = {32, 192, 6144, 7168};
    char plan[16][RIDGE_PLAN_BYTES];
    const int plans = gemm_grouped_plans(built, 3, 2, &extent, &h200, plan, 16);
    assert_int_equal(plans, 6);
    assert_string_equal(plan[0], "192x128:1x2:4:1:0");
    for (int i = 0; i < plans; i++) {
        struct gemm_choice choice;
        assert_null(gemm_grouped_plan_read(plan[i], built, 3, 2, &h200, &choice));
        for (int j = 0; j < i; j++)
            assert_string_not_equal(plan[i], plan[j]);
    }
    assert_int_equal(gemm_grouped_plans(built, 3, 2, &extent, &h200, plan, 1), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tile_fits_the_rows_of_a_group),
        cmocka_unit_test(clusters_stand_along_n),
        cmocka_unit_test(plans_are_obeyed_or_refused),
        cmocka_unit_test(plans_are_listed_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

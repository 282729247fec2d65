/* SPDX-License-Identifier: Apache-2.0 */
/* Order of tiles, and the choice of tile, cluster and stages for a shape. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/gemm_bf16/gemm_choice.h"
#include "kernels/support/tile_order.h"

static const struct ridge_device h200 = {
    .kind = RIDGE_CUDA, .sms = 132, .cc = 90, .l2_bytes = 60 << 20, .smem_optin_bytes = 232448};

static const struct gemm_built built[] = {
    {128, 256, 384 * 128, 32768, 0, 0}, {192, 176, 368 * 128, 33792, 0, 0}, {128, 144, 272 * 128, 18432, 0, 0}};

static void every_tile_once(void **state)
{
    (void)state;
    for (int rows = 1; rows <= 9; rows++)
        for (int columns = 1; columns <= 7; columns++)
            for (int band = 1; band <= rows; band++) {
                const struct tile_order order = {rows, columns, band};
                unsigned char seen[9][7] = {{0}};
                for (int i = 0; i < tile_count(order); i++) {
                    const struct tile_place place = tile_at(order, i);
                    assert_in_range(place.row, 0, rows - 1);
                    assert_in_range(place.column, 0, columns - 1);
                    assert_int_equal(seen[place.row][place.column]++, 0);
                }
            }
}

static void bands_go_column_by_column(void **state)
{
    (void)state;
    const struct tile_order order = {5, 3, 2};
    static const int expected[][2] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 2}, {1, 2}, {2, 0}};
    for (int i = 0; i < 7; i++) {
        assert_int_equal(tile_at(order, i).row, expected[i][0]);
        assert_int_equal(tile_at(order, i).column, expected[i][1]);
    }
    assert_int_equal(tile_at(order, 13).row, 4); /* the last band is one row */
    assert_int_equal(tile_at(order, 13).column, 1);
}

static void tile_fits_the_shape(void **state)
{
    (void)state;
    const int64_t wide[] = {4096, 4096, 7168}, narrow[] = {4096, 576, 7168}, odd[] = {4096, 2112, 7168};
    struct gemm_choice choice = gemm_choose(built, 3, wide, &h200);
    assert_int_equal(choice.tile, 0);
    assert_int_equal(choice.cluster_rows * choice.cluster_columns, 2);
    assert_int_equal(choice.stages, 4);
    assert_int_equal(choice.band, 8); /* 2048 x 2048 in flight */
    choice = gemm_choose(built, 3, narrow, &h200);
    assert_int_equal(choice.tile, 2);            /* 128 tiles are one wave */
    assert_int_equal(choice.cluster_columns, 2); /* A is the larger operand: it is the one to share */
    choice = gemm_choose(built, 3, odd, &h200);
    assert_int_equal(choice.tile, 1); /* 22 x 12 tiles are two waves */
}

/* 41 columns of tiles: in pairs of rows they are five waves, in pairs of columns six. 140 columns are as many waves in
 * both, and a pair of columns shares the larger slice. */
static void wide_tile_shares_what_fits_the_waves(void **state)
{
    (void)state;
    static const struct gemm_built wide[] = {{256, 176, 432 * 128, 45056, 4, GEMM_END_SETS}};
    const int64_t odd[] = {4096, 7168, 2048}, even[] = {4096, 24576, 1536};
    struct gemm_choice choice = gemm_choose(wide, 1, odd, &h200);
    assert_int_equal(choice.cluster_rows, 2);
    assert_int_equal(choice.stages, 3);
    choice = gemm_choose(wide, 1, even, &h200);
    assert_int_equal(choice.cluster_columns, 2);
}

/* 8192 columns are 47 tiles of 176 or 49 of 168, twelve waves of either. A pair of rows shares slices of 84 rows of B.
 */
static void narrower_tile_of_as_many_waves(void **state)
{
    (void)state;
    static const struct gemm_built wide[] = {{256, 176, 432 * 128, 45056, 4, GEMM_END_SETS},
                                             {256, 168, 424 * 128, 43008, 4, GEMM_END_SETS}};
    const int64_t cube[] = {8192, 8192, 8192}, odd[] = {4096, 7168, 16384};
    const struct gemm_choice choice = gemm_choose(wide, 2, cube, &h200);
    assert_int_equal(choice.tile, 1);
    assert_int_equal(choice.cluster_rows, 2);
    assert_int_equal(gemm_choose(wide, 2, odd, &h200).tile, 0);
}

/* The end of a tile counts once a wave: a schedule that hides more of it is taken for the same tile. */
static void end_of_a_tile_counts_every_wave(void **state)
{
    (void)state;
    const struct gemm_built pair[] = {{128, 176, 304 * 128, 33792, 0, 0},
                                      {128, 176, 304 * 128, 33792, 0, GEMM_END_TURNS}};
    const struct gemm_choice choice = {.cluster_rows = 2, .cluster_columns = 1};
    const int64_t ten_waves[] = {4096, 7168, 2048};
    assert_true(gemm_estimate(&pair[0], &choice, ten_waves, &h200) ==
                gemm_estimate(&pair[1], &choice, ten_waves, &h200) + 10 * (728 - GEMM_END_TURNS));
    assert_int_equal(gemm_choose(pair, 2, ten_waves, &h200).tile, 1);
}

static void choice_fits_the_chip(void **state)
{
    (void)state;
    static const int64_t size[] = {1, 8, 100, 129, 4096, 1 << 20};
    for (int i = 0; i < 6 * 6 * 6; i++) {
        const int64_t dim[] = {size[i % 6], size[i / 6 % 6], size[i / 36]};
        const struct gemm_choice choice = gemm_choose(built, 3, dim, &h200);
        const struct gemm_built *tile = &built[choice.tile];
        assert_in_range(choice.stages, 3, GEMM_MAX_STAGES);
        assert_true(choice.stages * (tile->stage_bytes + GEMM_BARRIER_BYTES) + tile->fix_bytes <=
                    h200.smem_optin_bytes);
        assert_in_range(choice.band, 1, (dim[0] + tile->rows - 1) / tile->rows);
    }
    const int64_t dim[] = {4096, 4096, 4096};
    assert_true(gemm_choose(built, 3, dim, &(struct ridge_device){.kind = RIDGE_HOST}).band >= 1);
}

static struct gemm_choice planned(const struct gemm_built *tiles, int count, const char *plan)
{
    const int64_t dim[] = {4096, 4096, 7168};
    struct ridge_device device = h200;
    device.plan = plan;
    return gemm_choose(tiles, count, dim, &device);
}

static void a_plan_is_obeyed(void **state)
{
    (void)state;
    struct gemm_choice choice = planned(built, 3, "128x144:2x2:3:5:400");
    assert_int_equal(choice.tile, 2);
    assert_int_equal(choice.cluster_rows * 10 + choice.cluster_columns, 22);
    assert_int_equal(choice.stages, 3);
    assert_int_equal(choice.band, 5);
    assert_int_equal(choice.stagger_ns, 400);
    choice = planned(built, 3, "192x176:1x2"); /* stages and band are left to the heuristic */
    assert_int_equal(choice.tile, 1);
    assert_int_equal(choice.stages, 4);
    assert_in_range(choice.band, 1, 22);
    assert_int_equal(planned(built, 3, NULL).tile, 0);
}

static void a_bad_plan_is_refused(void **state)
{
    (void)state;
    static const struct gemm_built grouped = {128, 144, 272 * 128, 0, 16, 0};
    static const struct {
        const char *plan, *rule;
    } bad[] = {
        {"", "not ROWS"},
        {"fastest", "not ROWS"},
        {"128x256", "not ROWS"},
        {"128x256:2x1:4:8:0:1", "not ROWS"},
        {"128x256:2x1:4:-8", "not ROWS"},
        {"128x256:2x1:4:", "not ROWS"},
        {"128x256:2x1:four", "not ROWS"},
        {"128x99999999999999:2x1", "not ROWS"},
        {"256x256:1x1", "no such tile"},
        {"128x256:0x1", "1 to 8 CTAs"},
        {"128x256:4x4", "1 to 8 CTAs"},
        {"192x176:8x1", "whole groups"}, /* slices of 22 rows are no whole swizzle atoms */
        {"128x256:2x1:1", "stages are 2 to 8"},
        {"128x256:2x1:5", "stages are 2 to 8"},
    };
    char message[256] = "";
    struct ridge_device device = h200;
    struct ridge_call call = {.device = &device, .error = message, .error_bytes = sizeof message};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        device.plan = bad[i].plan;
        assert_int_equal(gemm_plan_refused(&call, built, 3), 1);
        assert_non_null(strstr(message, bad[i].rule));
        assert_int_equal(strncmp(message, "plan ", 5), 0);
        assert_int_equal(strncmp(message + 5, bad[i].plan, strlen(bad[i].plan)), 0);
        assert_non_null(strstr(message, "tiles are 128x256 192x176 128x144"));
        assert_int_equal(planned(built, 3, bad[i].plan).tile, 0); /* nothing that `issued` would stumble over */
    }
    device.plan = "128x144:2x1"; /* slices of 72 rows are no whole groups of 16 */
    assert_int_equal(gemm_plan_refused(&call, &grouped, 1), 1);
    assert_int_equal(gemm_plan_refused(&call, built, 3), 0);
    device.plan = NULL;
    assert_int_equal(gemm_plan_refused(&call, built, 3), 0);
    volatile size_t few = 12; /* a short buffer is not overrun; the compiler would warn of it */
    call.error_bytes = few;
    message[12] = 'x';
    device.plan = "fastest";
    assert_int_equal(gemm_plan_refused(&call, built, 3), 1);
    assert_string_equal(message, "plan fastes");
    assert_int_equal(message[12], 'x');
}

static void plans_are_listed(void **state)
{
    (void)state;
    static const int64_t size[] = {1, 64, 300, 4096, 1 << 20};
    char plan[64][RIDGE_PLAN_BYTES], again[RIDGE_PLAN_BYTES];
    for (int i = 0; i < 5 * 5; i++) {
        const int64_t dim[] = {size[i % 5], size[i / 5], 7168};
        const int plans = gemm_plans(built, 3, dim, &h200, plan, 64);
        assert_in_range(plans, 7, 27);
        assert_int_equal(gemm_plans(built, 3, dim, &h200, plan, 5), 5);
        const struct gemm_choice best = gemm_choose(built, 3, dim, &h200);
        gemm_plan_write(built, &best, again);
        assert_string_equal(plan[0], again);
        for (int j = 0; j < plans; j++) { /* each is obeyed as it is written, and stands once */
            struct ridge_device device = h200;
            device.plan = plan[j];
            const struct gemm_choice choice = gemm_choose(built, 3, dim, &device);
            gemm_plan_write(built, &choice, again);
            assert_string_equal(plan[j], again);
            for (int k = 0; k < j; k++)
                assert_string_not_equal(plan[j], plan[k]);
        }
    }
    assert_int_equal(gemm_plans(built, 3, (const int64_t[]){1, 1, 1}, &h200, plan, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_tile_once),
        cmocka_unit_test(bands_go_column_by_column),
        cmocka_unit_test(tile_fits_the_shape),
        cmocka_unit_test(wide_tile_shares_what_fits_the_waves),
        cmocka_unit_test(narrower_tile_of_as_many_waves),
        cmocka_unit_test(end_of_a_tile_counts_every_wave),
        cmocka_unit_test(choice_fits_the_chip),
        cmocka_unit_test(a_plan_is_obeyed),
        cmocka_unit_test(a_bad_plan_is_refused),
        cmocka_unit_test(plans_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

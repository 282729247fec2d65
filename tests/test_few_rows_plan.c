/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of gemm_few_rows.cuh: shared memory, parts of k, ownership of sums, choice, text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "kernels/gemm_bf16/gemm_few_rows_plan.h"

static const struct ridge_device h200 = {
    .kind = RIDGE_CUDA, .sms = 132, .cc = 90, .l2_bytes = 60 << 20, .smem_optin_bytes = 232448};
static const struct few_rows_product products[] = {
    {64, false, false, false}, {128, true, true, false}, {128, true, false, true}};
static const int64_t layers[][2] = {{2112, 7168},  {576, 7168},  {24576, 1536}, {32768, 512},
                                    {7168, 16384}, {4096, 7168}, {7168, 2048}};

static bool complete(struct few_rows_plan *plan, int rows, int splits, int64_t m, int64_t n, int64_t k)
{
    const int64_t dim[] = {m, n, k};
    *plan = (struct few_rows_plan){.rows = rows, .splits = splits};
    return few_rows_complete(plan, &products[1], dim, &h200) == NULL;
}

static void shared_memory_is_laid_out(void **state)
{
    (void)state;
    struct few_rows_plan plan;
    int plans = 0;
    for (int rows = 16; rows <= 128; rows += 16)
        for (int splits = 1; splits <= 8; splits++)
            for (int m = 1; m <= 256; m += 85) {
                if (!complete(&plan, rows, splits, m, 2112, 4000))
                    continue;
                plans++;
                const int warps = plan.consumers / 32;
                assert_int_equal(plan.stage_bytes % 1024, 0); /* swizzle atoms */
                assert_true(plan.scales >= plan.stages * plan.stage_bytes);
                assert_true(plan.sums >= plan.scales + plan.stages * plan.scale_bytes);
                assert_int_equal(plan.sums % 16, 0);
                assert_int_equal(plan.barriers % 8, 0);
                /* sums of all groups of a thread lie where the ring was, those that arrive behind */
                assert_true(splits == 1 || plan.sums >= warps * 64 * plan.columns);
                assert_true(plan.staging - plan.sums >= (splits - 1) * plan.owned * warps * 512);
                assert_int_equal(plan.barriers - plan.staging, warps * FEW_ROWS_STAGING);
                assert_true(plan.bytes >= plan.barriers + 8 * (2 * plan.stages + 1));
                assert_true(plan.bytes <= h200.smem_optin_bytes);
            }
    assert_true(plans > 150);
}

/* In turns, totals that change hands and D lie where the ring was, or behind it if it is filled for a next tile. */
static void turns_have_their_place(void **state)
{
    (void)state;
    int plans = 0;
    for (int splits = 1; splits <= 8; splits++)
        for (int m = 1; m <= 256; m += 85)
            for (int clusters = 0; clusters <= 2; clusters++)
                for (int stages = 0; stages <= 9; stages++) {
                    const int64_t dim[] = {m, 2112, 4000};
                    struct few_rows_plan plan = {.rows = 64, .splits = splits, .clusters = clusters, .stages = stages};
                    const char *rule = few_rows_complete(&plan, &products[2], dim, &h200);
                    if (stages > 0 && stages < 4 && (splits == 1 || clusters == 0))
                        assert_non_null(strstr(rule, "in turns four"));
                    if (rule)
                        continue;
                    plans++;
                    const int part = plan.blocks_split + (plan.blocks_rest > 0),
                              use = splits > 1 ? part : (part + 1) / 2 * 2;
                    const int totals = plan.consumers * plan.columns * 2;
                    const int own = splits > 1 ? plan.owned * plan.consumers * 16 : 0;
                    assert_int_equal(plan.consumers, 256);
                    assert_int_equal(plan.columns, plan.width / 2);
                    assert_true(plan.staging >= plan.merge + totals);
                    if (plan.clusters == plan.tiles_b)
                        assert_true(plan.merge == 0 && plan.sums >= plan.staging + 2 * FEW_ROWS_LINES + own);
                    else
                        assert_true(plan.merge == plan.sums && plan.barriers >= plan.staging + 2 * FEW_ROWS_LINES);
                    assert_true(plan.sums >= plan.scales + plan.stages * plan.scale_bytes);
                    assert_true(plan.barriers - plan.sums >= (splits - 1) * plan.owned * plan.consumers * 16);
                    assert_int_equal(plan.stage_bytes % 1024 + plan.sums % 16 + plan.barriers % 8, 0);
                    assert_true(plan.bytes >= plan.barriers + 16 * plan.stages + 8);
                    assert_true(plan.bytes <= h200.smem_optin_bytes);
                    /* a stage that is filled again is the same warpgroup's */
                    assert_true(plan.stages % 4 == 0 || plan.stages == use);
                }
    assert_true(plans > 100);
    struct few_rows_plan plan = {.rows = 48, .splits = 1};
    const int64_t dim[] = {64, 64, 512};
    assert_non_null(strstr(few_rows_complete(&plan, &products[2], dim, &h200), "are 64 in turns"));
}

/* Copies bring no more of A than there is, in whole swizzle atoms, which tiles share equally; stages stay what they
 * are, and nothing changes for whole ones. */
static void only_rows_that_exist_are_copied(void **state)
{
    (void)state;
    static const struct {
        int m, tiles, taken;
    } rows[] = {{1, 1, 8},    {7, 1, 8},    {8, 1, 8},     {16, 1, 16},   {63, 1, 64},
                {64, 1, 64},  {65, 1, 72},  {96, 1, 96},   {127, 1, 128}, {128, 1, 128},
                {129, 2, 72}, {192, 2, 96}, {200, 2, 104}, {255, 2, 128}, {256, 2, 128}};
    for (size_t i = 0; i < 3 * sizeof rows / sizeof *rows; i++) {
        const struct few_rows_product *product = &products[i % 3];
        const int m = rows[i / 3].m, taken = rows[i / 3].taken;
        const int64_t dim[] = {m, 2112, 4000};
        struct few_rows_plan plan = {.rows = 64, .splits = 2};
        assert_null(few_rows_complete(&plan, product, dim, &h200));
        assert_int_equal(plan.tiles_a, rows[i / 3].tiles);
        assert_int_equal(plan.taken, taken);
        assert_in_range(plan.taken, 8, plan.width);
        assert_in_range(m, (plan.tiles_a - 1) * taken + 1, plan.tiles_a * taken);
        const int block = 64 * 128 + taken * (product->scaled ? 132 : 128);
        assert_int_equal(plan.copied, product->turns ? block : 2 * block);
        const int width = m > 64 ? 128 : 64;
        assert_int_equal(plan.stage_bytes, plan.deep * (64 + width) * 128);
        assert_int_equal(plan.scale_bytes, product->scaled ? plan.deep * width * 4 : 0);
        if (m % 64 == 0 && m != 192)
            assert_int_equal(plan.copied, plan.stage_bytes + plan.scale_bytes);
    }
    struct few_rows_plan plan;
    assert_true(complete(&plan, 16, 1, 100, 2112, 4000)); /* few rows of B */
    assert_int_equal(plan.copied, 2 * (16 * 128 + 104 * 132));
    assert_true(complete(&plan, 128, 1, 100, 2112, 4000)); /* a warpgroup has all rows of A */
    assert_int_equal(plan.copied, 2 * (128 * 128 + 104 * 132));
}

/* A stage is held until the next one is there: one stage would wait for itself. */
static void there_are_two_stages(void **state)
{
    (void)state;
    struct few_rows_plan plan = {.rows = 64, .splits = 1};
    const int64_t dim[] = {64, 64, 7168};
    struct ridge_device small = h200;
    small.smem_optin_bytes = 40000;
    assert_non_null(strstr(few_rows_complete(&plan, &products[1], dim, &small), "two stages"));
    plan = (struct few_rows_plan){.rows = 64, .splits = 1, .stages = 1};
    assert_non_null(strstr(few_rows_complete(&plan, &products[1], dim, &h200), "two stages"));
    assert_true(complete(&plan, 64, 1, 64, 64, 256)); /* two blocks are one stage */
    assert_int_equal(plan.stages, 1);
}

static void every_block_is_one_splits(void **state)
{
    (void)state;
    struct few_rows_plan plan;
    for (int k = 128; k <= 7168; k += 128)
        for (int splits = 1; splits <= 8; splits++) {
            if (!complete(&plan, 64, splits, 64, 576, k)) {
                assert_true(k / 128 < splits);
                continue;
            }
            assert_int_equal(plan.blocks_split * splits + plan.blocks_rest, k / 128);
            assert_in_range(plan.blocks_rest, 0, splits - 1);
            assert_true(plan.blocks_split >= 1);
        }
}

static void every_group_has_an_owner(void **state)
{
    (void)state;
    struct few_rows_plan plan;
    for (int splits = 1; splits <= 8; splits++)
        for (int m = 64; m <= 128; m += 64) {
            assert_true(complete(&plan, 64, splits, m, 576, 7168));
            assert_true(plan.owned * splits >= plan.columns / 8);
            assert_true((splits - 1) * plan.owned * plan.consumers * 16 < 1 << 20); /* what a barrier can count */
        }
}

static void choice_fits_the_chip(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * 3 * 7; i++) {
        const int64_t dim[] = {64 << i % 2, layers[i / 6][0], layers[i / 6][1]};
        const struct few_rows_plan plan = few_rows_choose(&products[i / 2 % 3], dim, &h200);
        assert_in_range(plan.clusters, 1, few_rows_places(&plan, &h200)); /* nobody waits for an SM */
        assert_in_range(plan.clusters * plan.splits, 48, 264);            /* 54 take as long as 72 at 64 x 576 x 7168 */
        assert_true(plan.stages >= 2);
    }
    static const int64_t size[] = {1, 8, 100, 256}, many[] = {1, 129, 4096, 1 << 20};
    for (int i = 0; i < 4 * 4 * 4; i++) {
        const int64_t dim[] = {size[i % 4], many[i / 4 % 4], many[i / 16]};
        const struct few_rows_plan plan = few_rows_choose(&products[i % 2], dim, &h200);
        assert_in_range(plan.bytes, 1, h200.smem_optin_bytes);
        assert_true((int64_t)plan.tiles_b * plan.rows >= dim[1]);
        assert_true((int64_t)plan.tiles_a * plan.width >= dim[0]);
        assert_true((int64_t)plan.blocks * products[i % 2].depth >= dim[2]);
    }
    const int64_t dim[] = {64, 4096, 7168};
    assert_true(few_rows_choose(&products[0], dim, &(struct ridge_device){.smem_optin_bytes = 232448}).stages > 0);
}

/* 48 rows, in more CTAs, are estimated alike and took 7 % longer. */
static void few_ctas_do_what_more_do(void **state)
{
    (void)state;
    const int64_t dim[] = {128, 576, 7168};
    assert_int_equal(few_rows_choose(&products[1], dim, &h200).rows, 64);
}

/* Parts of k in turns, the fewest and the most that took the least time within 1 % on an H200. */
static void parts_in_turns_are_those_measured(void **state)
{
    (void)state;
    static const struct {
        int64_t dim[3];
        int least, most;
    } measured[] = {{{64, 2112, 7168}, 2, 2},  {{64, 576, 7168}, 6, 8},   {{64, 4096, 7168}, 2, 2},
                    {{64, 7168, 2048}, 1, 1},  {{64, 7168, 16384}, 1, 1}, {{128, 2112, 7168}, 3, 3},
                    {{128, 576, 7168}, 8, 8},  {{128, 4096, 7168}, 2, 2}, {{128, 7168, 2048}, 1, 1},
                    {{128, 7168, 16384}, 1, 1}};
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++)
        assert_in_range(few_rows_choose(&products[2], measured[i].dim, &h200).splits, measured[i].least,
                        measured[i].most);
}

static const char *refusal(const char *plan)
{
    static const int64_t dim[] = {64, 576, 512};
    static char message[256];
    struct ridge_device device = h200;
    const struct ridge_call call = {.dim = dim, .device = &device, .error = message, .error_bytes = sizeof message};
    device.plan = plan;
    message[0] = 0;
    const int refused = few_rows_refused(&call, &products[1]);
    assert_int_equal(refused, message[0] != 0);
    return message;
}

static void a_bad_plan_is_refused(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"", "not ROWS"},         {"fastest", "not ROWS"},  {"64", "not ROWS"},         {"64:1:0:0:0", "not ROWS"},
        {"64:1:-1", "not ROWS"},  {"64:1:", "not ROWS"},    {"64:1:9:x", "not ROWS"},   {"0:1", "multiple of 16"},
        {"8:1", "of 16"},         {"144:1", "at most 128"}, {"64:0", "1 to 8 CTAs"},    {"64:9", "1 to 8 CTAs"},
        {"64:5", "fewer blocks"}, {"64:2:3", "one tile"},   {"64:1:9:1", "two stages"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_non_null(strstr(refusal(bad[i][0]), bad[i][1]));
        assert_int_equal(strncmp(refusal(bad[i][0]), "plan ", 5), 0);
    }
    assert_string_equal(refusal("64:4"), "");
    assert_string_equal(refusal(NULL), "");
}

static void plans_are_obeyed(void **state)
{
    (void)state;
    static char plan[256][RIDGE_PLAN_BYTES];
    char again[RIDGE_PLAN_BYTES];
    for (int i = 0; i < 3 * 2 * 7; i++) {
        const struct few_rows_product *product = &products[i % 3];
        const int64_t dim[] = {64 << i / 3 % 2, layers[i / 6][0], layers[i / 6][1]};
        const int plans = few_rows_plans(product, dim, &h200, plan, 256);
        assert_in_range(plans, product->turns ? 1 : 2, 100);
        assert_int_equal(few_rows_plans(product, dim, &h200, plan, 1), 1);
        for (int j = 0; j < plans; j++) {
            struct ridge_device device = h200;
            device.plan = plan[j];
            const struct few_rows_plan chosen = few_rows_choose(product, dim, &device);
            few_rows_write(&chosen, again);
            assert_string_equal(plan[j], again);
            for (int k = 0; k < j; k++)
                assert_string_not_equal(plan[j], plan[k]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_memory_is_laid_out),
        cmocka_unit_test(turns_have_their_place),
        cmocka_unit_test(there_are_two_stages),
        cmocka_unit_test(every_block_is_one_splits),
        cmocka_unit_test(every_group_has_an_owner),
        cmocka_unit_test(choice_fits_the_chip),
        cmocka_unit_test(a_bad_plan_is_refused),
        cmocka_unit_test(plans_are_obeyed),
        cmocka_unit_test(few_ctas_do_what_more_do),
        cmocka_unit_test(parts_in_turns_are_those_measured),
        cmocka_unit_test(only_rows_that_exist_are_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

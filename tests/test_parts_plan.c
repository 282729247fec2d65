/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of gemm_fp8_block_parts.cuh: shared memory, shares of k and of the totals, choice, text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "kernels/gemm_fp8_block/gemm_fp8_block_parts_plan.h"

static const struct ridge_device h200 = {
    .kind = RIDGE_CUDA, .sms = 132, .cc = 90, .l2_bytes = 60 << 20, .smem_optin_bytes = 232448};

static const int64_t size[] = {1, 64, 65, 128, 129, 192, 193, 200, 256};
static const int64_t depth[] = {16, 128, 400, 1024, 2048, 7168, 16384};
enum { SIZES = sizeof size / sizeof *size, DEPTHS = sizeof depth / sizeof *depth };

static void shared_memory_is_laid_out(void **state)
{
    (void)state;
    int plans = 0;
    for (int i = 0; i < (int)SIZES * (int)DEPTHS * (int)PARTS_MAX; i++)
        for (int stages = 0; stages <= 9; stages += 3) {
            const int64_t dim[] = {size[i % SIZES], 7168, depth[i / SIZES % DEPTHS]};
            struct parts_plan plan = {.parts = i / (int)(SIZES * DEPTHS) + 1, .stages = stages};
            if (parts_complete(&plan, dim, &h200))
                continue;
            plans++;
            const int rows = 64 * (plan.sets[0] + plan.sets[1]);
            assert_in_range(rows, dim[0], dim[0] + 63 > 128 ? dim[0] + 63 : 128);
            assert_in_range(plan.taken, dim[0], rows);
            assert_int_equal(plan.stage_bytes, PARTS_B_BYTES + rows * 128);
            assert_int_equal(plan.stage_bytes % 1024, 0); /* swizzle atoms */
            assert_int_equal(plan.scale_bytes, rows * 4);
            assert_true(plan.copied <= plan.stage_bytes + plan.scale_bytes);
            assert_in_range(plan.stages, 1, plan.blocks);
            assert_true(plan.stages > 1 || few_rows_up(plan.blocks, plan.parts) == 1);
            assert_true(plan.scales >= plan.stages * plan.stage_bytes);
            assert_true(plan.scales >= plan.parts * (plan.owned[0] + plan.owned[1]) * PARTS_UNIT_BYTES);
            assert_true(plan.barriers >= plan.scales + plan.stages * plan.scale_bytes);
            assert_int_equal(plan.scales % 128 + plan.barriers % 8, 0);
            assert_in_range(plan.bytes, plan.barriers + 16 * plan.stages + 8, h200.smem_optin_bytes);
        }
    assert_true(plans > 500);
}

/* Every block of k is one part's, no part is without one, and every unit of totals is added up by one part. */
static void parts_share_everything(void **state)
{
    (void)state;
    for (int i = 0; i < (int)SIZES * (int)DEPTHS * (int)PARTS_MAX; i++) {
        const int64_t dim[] = {size[i % SIZES], 576, depth[i / SIZES % DEPTHS]};
        struct parts_plan plan = {.parts = i / (int)(SIZES * DEPTHS) + 1};
        const char *rule = parts_complete(&plan, dim, &h200);
        assert_int_equal(rule != NULL, plan.parts > plan.blocks);
        if (rule)
            continue;
        assert_true(plan.blocks_part > 0);
        assert_int_equal(plan.parts * plan.blocks_part + plan.blocks_rest, few_rows_up(dim[2], 128));
        assert_in_range(plan.blocks_rest, 0, plan.parts - 1);
        assert_true((int64_t)plan.tiles * 128 >= dim[1] && (int64_t)(plan.tiles - 1) * 128 < dim[1]);
        for (int j = 0; j < 2; j++) {
            assert_in_range(plan.sets[j], 1, 2);
            assert_true(plan.parts * plan.owned[j] >= plan.sets[j] * PARTS_UNITS);
            assert_true(plan.parts * (plan.owned[j] - 1) < plan.sets[j] * PARTS_UNITS);
        }
    }
}

static void choice_fills_the_sms(void **state)
{
    (void)state;
    static const int64_t layers[][2] = {{7168, 16384}, {7168, 2048}, {4096, 7168}};
    for (int i = 0; i < 3; i++)
        for (int m = 129; m <= 256; m++) {
            const struct parts_plan plan = parts_choose((const int64_t[]){m, layers[i][0], layers[i][1]}, &h200);
            assert_in_range(plan.tiles * plan.parts, 96, h200.sms);
            assert_in_range(plan.stages, 4, 6);
        }
    for (int64_t n = 1; n < 1 << 20; n = 3 * n + 1)
        assert_true(parts_choose((const int64_t[]){256, n, 16}, &h200).stages == 1);
    assert_int_equal(parts_choose((const int64_t[]){257, 7168, 2048}, &h200).stages, 0);
    assert_true(
        parts_choose((const int64_t[]){256, 7168, 2048}, &(struct ridge_device){.smem_optin_bytes = 232448}).stages >
        0);
}

static const char *refusal(const char *plan)
{
    static const int64_t dim[] = {200, 576, 640};
    static char message[256];
    struct ridge_device device = h200;
    const struct ridge_call call = {.dim = dim, .device = &device, .error = message, .error_bytes = sizeof message};
    device.plan = plan;
    message[0] = 0;
    const int refused = parts_refused(&call);
    assert_int_equal(refused, message[0] != 0);
    return message;
}

static void a_bad_plan_is_refused(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"", "not PARTS"},      {"fastest", "not PARTS"}, {"2:", "not PARTS"},   {"2:-1", "not PARTS"},
        {"2:3:4", "not PARTS"}, {"2 ", "not PARTS"},      {"0", "1 to 8 parts"}, {"9", "1 to 8 parts"},
        {"-1", "1 to 8 parts"}, {"6", "fewer blocks"},    {"2:1", "two stages"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_non_null(strstr(refusal(bad[i][0]), bad[i][1]));
        assert_int_equal(strncmp(refusal(bad[i][0]), "plan ", 5), 0);
    }
    assert_string_equal(refusal("2"), "");
    assert_string_equal(refusal("5:4"), "");
    assert_string_equal(refusal(NULL), "");
}

static void plans_are_obeyed(void **state)
{
    (void)state;
    static char plan[16][RIDGE_PLAN_BYTES];
    char again[RIDGE_PLAN_BYTES];
    static const int64_t layers[][3] = {
        {256, 7168, 16384}, {192, 4096, 7168}, {256, 7168, 2048}, {256, 24576, 1536}, {130, 576, 7168}};
    for (int i = 0; i < 5; i++) {
        const int plans = parts_plans(layers[i], &h200, plan, 16);
        assert_in_range(plans, 2, PARTS_MAX);
        assert_int_equal(parts_plans(layers[i], &h200, plan, 1), 1);
        for (int j = 0; j < plans; j++) {
            struct ridge_device device = h200;
            device.plan = plan[j];
            const struct parts_plan chosen = parts_choose(layers[i], &device);
            parts_write(&chosen, again);
            assert_string_equal(plan[j], again);
            for (int k = 0; k < j; k++)
                assert_string_not_equal(plan[j], plan[k]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_memory_is_laid_out), cmocka_unit_test(parts_share_everything),
        cmocka_unit_test(choice_fills_the_sms),      cmocka_unit_test(a_bad_plan_is_refused),
        cmocka_unit_test(plans_are_obeyed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of gemm_fp8_block_one_wave.cuh: shared memory, choice, text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "kernels/gemm_fp8_block/gemm_fp8_block_one_wave_plan.h"

static const struct ridge_device h200 = {
    .kind = RIDGE_CUDA, .sms = 132, .cc = 90, .l2_bytes = 60 << 20, .smem_optin_bytes = 232448};

static void shared_memory_is_laid_out(void **state)
{
    (void)state;
    int plans = 0;
    static const int64_t depth[] = {16, 128, 400, 512, 1536, 7168};
    for (int i = 0; i < (int)ONE_WAVE_CANDIDATES; i++)
        for (int j = 0; j < 6; j++)
            for (int stages = 0; stages <= 9; stages += 3) {
                const int64_t dim[] = {64, 24576, depth[j]};
                struct one_wave_plan plan = {
                    .shape = i / ONE_WAVE_PIECES, .pieces = i % ONE_WAVE_PIECES + 1, .stages = stages};
                if (one_wave_complete(&plan, dim, &h200))
                    continue;
                plans++;
                assert_in_range(plan.stages, 1, plan.pieces * plan.blocks);
                assert_true(plan.stages > 1 || plan.pieces * plan.blocks == 1);
                assert_int_equal(plan.places, plan.pieces > 1 ? plan.blocks : plan.stages);
                assert_int_equal(plan.stages_at % 1024, 0); /* swizzle atoms */
                assert_int_equal(plan.columns * 128 % 1024, 0);
                assert_true(plan.stages_at >= plan.places * plan.rows * 128);
                assert_true(plan.staging >= plan.stages_at + plan.stages * plan.columns * 128);
                assert_true(plan.scales >= plan.staging + ONE_WAVE_STAGING);
                assert_true(plan.barriers >= plan.scales + plan.places * plan.rows * 4);
                assert_int_equal(plan.staging % 128 + plan.scales % 128 + plan.barriers % 8, 0);
                assert_in_range(plan.bytes, plan.barriers + 16 * plan.stages, h200.smem_optin_bytes);
            }
    assert_true(plans > 300);
}

/* Copies bring no more of A than there is, in whole swizzle atoms; places stay what they are. */
static void only_rows_that_exist_are_copied(void **state)
{
    (void)state;
    static const int rows[][2] = {{1, 8},   {7, 8},   {8, 8},   {16, 16},   {63, 64},
                                  {64, 64}, {65, 72}, {96, 96}, {127, 128}, {128, 128}}; /* m, copied */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int j = 0; j < (int)ONE_WAVE_CANDIDATES; j++) {
            const int64_t dim[] = {rows[i][0], 24576, 512};
            struct one_wave_plan plan, whole;
            if (!one_wave_candidate(j, dim, &h200, &plan))
                continue;
            assert_int_equal(plan.taken, rows[i][1]);
            assert_in_range(plan.taken, dim[0], plan.rows);
            assert_int_equal(plan.copied, rows[i][1] * 128 + rows[i][1] * 4);
            assert_true(one_wave_candidate(j, (const int64_t[]){plan.rows, 24576, 512}, &h200, &whole));
            assert_int_equal(whole.copied, whole.rows * 128 + whole.rows * 4);
            assert_int_equal(plan.stages, whole.stages);
            assert_int_equal(plan.bytes, whole.bytes);
        }
    static const int64_t more[] = {129, 200};
    for (int i = 0; i < 2; i++)
        assert_int_equal(one_wave_fastest((const int64_t[]){more[i], 24576, 512}, &h200).stages, 0);
}

static void every_column_has_a_cta(void **state)
{
    (void)state;
    static const int64_t size[] = {1, 8, 65, 100, 128}, many[] = {1, 129, 4096, 1 << 20};
    for (int i = 0; i < 5 * 4 * 4; i++) {
        const int64_t dim[] = {size[i % 5], many[i / 5 % 4], many[i / 20]};
        const struct one_wave_plan plan = one_wave_choose(dim, &h200);
        assert_true(plan.stages > 0);
        assert_true(plan.rows >= dim[0]);
        assert_true((int64_t)plan.ctas * plan.pieces * plan.columns >= dim[1]);
        assert_true((int64_t)(plan.ctas - 1) * plan.pieces * plan.columns < dim[1]);
        assert_true((int64_t)plan.blocks * 128 >= dim[2]);
    }
    const int64_t dim[] = {128, 4096, 512};
    assert_true(one_wave_choose(dim, &(struct ridge_device){.smem_optin_bytes = 232448}).stages > 0);
}

/* With so much of B on its way as DRAM needs, or all that has room, and less than a stage more. */
static void choice_is_one_wave(void **state)
{
    (void)state;
    static const int64_t layers[][3] = {
        {128, 32768, 512}, {128, 24576, 1536}, {128, 7168, 2048}, {64, 32768, 512}, {64, 24576, 1536}};
    for (int i = 0; i < 5; i++) {
        const struct one_wave_plan plan = one_wave_choose(layers[i], &h200);
        assert_in_range(plan.ctas, 96, h200.sms);
        assert_in_range((int64_t)plan.ctas * plan.stages * plan.columns * 128, FEW_ROWS_FLIGHT / 16 * 15,
                        FEW_ROWS_FLIGHT + (int64_t)plan.ctas * plan.columns * 128 - 1);
    }
}

/* gemm_fp8_block_16 takes 13 or 15, whichever is estimated to be faster: it is the one that was, with the plans that
 * both take (reports/baselines/h200-sxm/few_rows.jsonl of commit 66f5fe4). */
static void the_faster_step_is_estimated_so(void **state)
{
    (void)state;
    static const struct few_rows_product turns = {128, true, false, true};
    static const struct {
        int64_t dim[3];
        double turns, one_wave; /* us */
    } measured[] = {
        {{64, 2112, 7168}, 9.07, 14.78},    {{64, 576, 7168}, 6.00, 14.08},    {{64, 24576, 1536}, 14.14, 14.69},
        {{64, 32768, 512}, 9.17, 8.37},     {{64, 7168, 16384}, 34.64, 34.85}, {{64, 4096, 7168}, 12.30, 15.20},
        {{64, 7168, 2048}, 7.44, 7.58},     {{128, 2112, 7168}, 10.45, 16.69}, {{128, 576, 7168}, 7.23, 15.92},
        {{128, 24576, 1536}, 20.85, 15.26}, {{128, 32768, 512}, 13.26, 9.33},  {{128, 7168, 16384}, 38.69, 36.83},
        {{128, 4096, 7168}, 13.98, 17.36},  {{128, 7168, 2048}, 8.56, 8.26}};
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
        const int64_t *dim = measured[i].dim;
        const struct few_rows_plan parts = few_rows_fastest(&turns, dim, &h200);
        const struct one_wave_plan whole = one_wave_fastest(dim, &h200);
        const double in_turns = few_rows_estimate(&parts, &turns, dim, &h200);
        const double in_one_wave = one_wave_estimate(&whole, dim, &h200);
        assert_int_equal(in_turns < in_one_wave, measured[i].turns < measured[i].one_wave);
        assert_true(in_turns > 0.95 * measured[i].turns && in_turns < 1.09 * measured[i].turns);
        assert_true(in_one_wave > 0.93 * measured[i].one_wave && in_one_wave < 1.08 * measured[i].one_wave);
    }
}

static const char *refusal(const char *plan)
{
    static const int64_t dim[] = {100, 576, 2048};
    static char message[256];
    struct ridge_device device = h200;
    const struct ridge_call call = {.dim = dim, .device = &device, .error = message, .error_bytes = sizeof message};
    device.plan = plan;
    message[0] = 0;
    const int refused = one_wave_refused(&call);
    assert_int_equal(refused, message[0] != 0);
    return message;
}

static void a_bad_plan_is_refused(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"", "not ROWS"},           {"fastest", "not ROWS"},       {"128:128", "not ROWS"},
        {"128:128:1:", "not ROWS"}, {"128:128:1:-1", "not ROWS"},  {"128:128:1:2:3", "not ROWS"},
        {"128:96:1", "compiled"},   {"64:64:1", "more rows of A"}, {"128:128:0", "1 to 16 pieces"},
        {"128:64:17", "1 to 16"},   {"128:128:2", "two stages"},   {"128:128:1:1", "two stages"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_non_null(strstr(refusal(bad[i][0]), bad[i][1]));
        assert_int_equal(strncmp(refusal(bad[i][0]), "plan ", 5), 0);
    }
    assert_string_equal(refusal("128:64:1:4"), "");
    assert_string_equal(refusal(NULL), "");
}

static void plans_are_obeyed(void **state)
{
    (void)state;
    static char plan[128][RIDGE_PLAN_BYTES];
    char again[RIDGE_PLAN_BYTES];
    static const int64_t layers[][3] = {
        {128, 32768, 512}, {128, 24576, 1536}, {128, 7168, 16384}, {64, 32768, 512}, {64, 2112, 7168}};
    for (int i = 0; i < 5; i++) {
        const int plans = one_wave_plans(layers[i], &h200, plan, 128);
        assert_in_range(plans, 2, 100);
        assert_int_equal(one_wave_plans(layers[i], &h200, plan, 1), 1);
        for (int j = 0; j < plans; j++) {
            struct ridge_device device = h200;
            device.plan = plan[j];
            const struct one_wave_plan chosen = one_wave_choose(layers[i], &device);
            one_wave_write(&chosen, again);
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
        cmocka_unit_test(every_column_has_a_cta),
        cmocka_unit_test(choice_is_one_wave),
        cmocka_unit_test(a_bad_plan_is_refused),
        cmocka_unit_test(plans_are_obeyed),
        cmocka_unit_test(the_faster_step_is_estimated_so),
        cmocka_unit_test(only_rows_that_exist_are_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

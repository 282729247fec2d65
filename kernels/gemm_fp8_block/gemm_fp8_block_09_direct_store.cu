/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_fp8_block/gemm_fp8_block_direct.cuh"

#define TILES(X) X(2, 128) X(1, 192) X(1, 144)

#define COMPILED(s, n) gemm_fp8_block_direct_compiled<gemm_fp8_block_direct_shape<s, n>>(),
#define START(s, n) gemm_fp8_block_direct_start<gemm_fp8_block_direct_shape<s, n>>,
static const struct gemm_fp8_compiled compiled[] = {TILES(COMPILED)};
static int (*const starts[])(const struct ridge_call *, const struct gemm_fp8_block_plan *) = {TILES(START)};
static const int tiles = sizeof compiled / sizeof *compiled;

static int setup(struct ridge_call *call, void **state)
{
    return gemm_fp8_block_setup_direct(call, compiled, tiles, state);
}

static int launch(const struct ridge_call *call)
{
    const struct gemm_fp8_block_plan *plan = (const struct gemm_fp8_block_plan *)call->state;
    return starts[plan->plan.choice.tile](call, plan);
}

static const char *describe(void *state)
{
    return state ? ((const struct gemm_fp8_block_plan *)state)->plan.text : "";
}

static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    gemm_fp8_block_issue_cluster(compiled, tiles, dim, device, work);
}

static int plans(const int64_t *dim, const struct ridge_device *device, char (*plan)[RIDGE_PLAN_BYTES], int max)
{
    return gemm_fp8_plans(compiled, tiles, dim, device, plan, max);
}

extern "C" const struct ridge_variant ridge_variant_gemm_fp8_block_09_direct_store = {
    .idea = "05 with totals that go from the registers to D under the first WGMMAs of the next tile",
    .source = "CUDA driver API, cuTensorMapEncodeTiled (five dimensions in any order); gemm_bf16_10",
    .changes =
        "no slabs and no waits for copies of results; the next stage is waited for before the promotion, not after",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = gemm_fp8_unsupported,
    .issued = issued,
    .setup = setup,
    .teardown = free,
    .describe = describe,
    .launch = launch,
    .plans = plans,
    .kernel = (const void *)gemm_fp8_block_direct<gemm_fp8_block_direct_shape<2, 128>>,
};

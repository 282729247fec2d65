/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_fp8_block/gemm_fp8_block_cluster.cuh"

#define TILES(X) X(2, 128, 1) X(1, 192, 3) X(1, 144, 1)

#define COMPILED(s, n, boxes) gemm_fp8_block_compiled<gemm_fp8_block_shape<s, n, boxes>, false, false>(),
#define START(s, n, boxes) gemm_fp8_block_start<gemm_fp8_block_shape<s, n, boxes>, false, false>,
static const struct gemm_fp8_compiled compiled[] = {TILES(COMPILED)};
static int (*const starts[])(const struct ridge_call *, const struct gemm_fp8_block_plan *) = {TILES(START)};
static const int tiles = sizeof compiled / sizeof *compiled;

static int setup(struct ridge_call *call, void **state)
{
    return gemm_fp8_block_setup_cluster(call, compiled, tiles, state);
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

extern "C" const struct ridge_variant ridge_variant_gemm_fp8_block_05_multicast = {
    .idea = "clusters of two CTAs share what they load by TMA multicast; the tile fits the shape, up to 256 x 128",
    .source = "DeepGEMM, sm90_fp8_gemm_1d2d (clusters of two, consumers of 128 rows)",
    .changes = "against 02 and 04: L2 is read once for two CTAs; wait-then-promote stays",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = gemm_fp8_unsupported,
    .issued = issued,
    .setup = setup,
    .teardown = free,
    .describe = describe,
    .launch = launch,
    .plans = plans,
    .kernel = (const void *)gemm_fp8_block_cluster<gemm_fp8_block_shape<2, 128, 1>, false, false>,
};

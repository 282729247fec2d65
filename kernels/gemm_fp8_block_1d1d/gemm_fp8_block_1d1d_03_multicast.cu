/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_fp8_block_1d1d/gemm_1d1d_plan.cuh"

/* Consumers, sets, columns, columns whose scales are held (0: products are made), boxes of a slab. */
#define TILES(X) X(2, 1, 128, 0, 4)

using walk = gemm_1d1d_dense;
template <int consumers, int sets, int columns, int ahead, int boxes>
static constexpr auto kernel_of = gemm_1d1d_kernel<gemm_1d1d_tile<consumers, sets, columns, ahead, boxes>, walk>;

#define KERNEL(...) kernel_of<__VA_ARGS__>,
#define COMPILED(...) gemm_1d1d_compiled<gemm_1d1d_tile<__VA_ARGS__>, walk>((const void *)kernel_of<__VA_ARGS__>),
static void (*const kernels[])(gemm_1d1d_arguments<walk>) = {TILES(KERNEL)};
static const struct gemm_fp8_compiled compiled[] = {TILES(COMPILED)};
static const struct gemm_1d1d_table<walk> table = {
    compiled, kernels, sizeof compiled / sizeof *compiled, true
};

static int setup(struct ridge_call *call, void **state)
{
    return gemm_1d1d_setup(call, &table, state);
}

static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    gemm_1d1d_issue(&table, dim, device, work);
}

static int plans(const int64_t *dim, const struct ridge_device *device, char (*plan)[RIDGE_PLAN_BYTES], int max)
{
    const struct gemm_1d1d_shape shape = {1, dim[0], dim[1], dim[2]};
    return gemm_1d1d_plans(&table, &shape, device, plan, max);
}

extern "C" const struct ridge_variant ridge_variant_gemm_fp8_block_1d1d_03_multicast = {
    .idea = "the same in clusters of two CTAs, which share loads by TMA multicast",
    .source = "DeepGEMM, sm90_fp8_gemm_1d1d",
    .changes = "L2 is read once for two CTAs",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = gemm_fp8_unsupported,
    .issued = issued,
    .setup = setup,
    .teardown = free,
    .describe = gemm_1d1d_describe<walk>,
    .launch = gemm_1d1d_launch,
    .plans = plans,
    .kernel = (const void *)kernel_of<2, 1, 128, 0, 4>,
};

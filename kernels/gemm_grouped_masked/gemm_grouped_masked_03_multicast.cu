/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_grouped_masked/gemm_grouped_masked.cuh"
#include "kernels/gemm_grouped_contiguous/gemm_grouped_plan.cuh"

#define TILES(X) X(2, 2, 128, 1)

#define COMPILED(...) gemm_grouped_compile<gemm_grouped_tile<__VA_ARGS__>, gemm_grouped_masked, false>(),
static const struct gemm_grouped_compiled compiled[] = {TILES(COMPILED)};
static const struct gemm_grouped_table table = {compiled, sizeof compiled / sizeof *compiled, 2, true};

using hooks = gemm_grouped_hooks<table, masked_passes>;

extern "C" const struct ridge_variant ridge_variant_gemm_grouped_masked_03_multicast = {
    .idea = "clusters of two CTAs side by side along n share A by TMA multicast",
    .source = "",
    .changes = "against 02: L2 is read once for two CTAs",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = gemm_grouped_unsupported,
    .issued = hooks::issued,
    .setup = hooks::setup,
    .teardown = free,
    .describe = gemm_grouped_describe,
    .launch = gemm_grouped_launch,
    .plans = hooks::plans,
    .kernel = (const void *)gemm_grouped<gemm_grouped_tile<2, 2, 128, 1>, gemm_grouped_masked, false>,
};

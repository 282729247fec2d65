/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_grouped_masked/gemm_grouped_masked.cuh"
#include "kernels/gemm_grouped_contiguous/gemm_grouped_plan.cuh"

#define TILES(X) X(2, 2, 128, 1) X(3, 1, 128, 2) X(2, 1, 192, 3)

#define COMPILED(...) gemm_grouped_compile<gemm_grouped_tile<__VA_ARGS__>, gemm_grouped_masked, false>(),
static const struct gemm_grouped_compiled compiled[] = {TILES(COMPILED)};
static const struct gemm_grouped_table table = {compiled, sizeof compiled / sizeof *compiled, 2, true};

using hooks = gemm_grouped_hooks<table, masked_passes>;

extern "C" const struct ridge_variant ridge_variant_gemm_grouped_masked_04_fitted_rows = {
    .idea = "03 with tiles of 256 x 128, 192 x 128 or 128 x 192, whichever the expected rows of a group fill best",
    .source = "",
    .changes = "192 rows a group are one tile of three consumers, not one and a third of two",
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

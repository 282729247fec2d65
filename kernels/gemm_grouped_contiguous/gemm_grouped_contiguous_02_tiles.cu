/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_grouped_contiguous/gemm_grouped_contiguous.cuh"
#include "kernels/gemm_grouped_contiguous/gemm_grouped_contiguous.h"
#include "kernels/gemm_grouped_contiguous/gemm_grouped_plan.cuh"

#define TILES(X) X(2, 2, 128, 1)

#define COMPILED(...) gemm_grouped_compile<gemm_grouped_tile<__VA_ARGS__>, gemm_grouped_contiguous, false>(),
static const struct gemm_grouped_compiled compiled[] = {TILES(COMPILED)};
static const struct gemm_grouped_table table = {compiled, sizeof compiled / sizeof *compiled, 1, false};

using hooks = gemm_grouped_hooks<table, contiguous_passes>;

extern "C" const struct ridge_variant ridge_variant_gemm_grouped_contiguous_02_tiles = {
    .idea = "WGMMA on 256 x 128 tiles of a persistent grid; a tile takes a pass for each group that it has rows of",
    .source = "DeepGEMM, m_grouped_fp8_gemm_nt_contiguous (there a tile has one group)",
    .changes = "tiles of the dense kernel; the producer reads the groups of its rows and tells the consumers",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = gemm_grouped_unsupported,
    .issued = hooks::issued,
    .setup = hooks::setup,
    .teardown = free,
    .describe = gemm_grouped_describe,
    .launch = gemm_grouped_launch,
    .plans = hooks::plans,
    .kernel = (const void *)gemm_grouped<gemm_grouped_tile<2, 2, 128, 1>, gemm_grouped_contiguous, false>,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_grouped_contiguous/gemm_grouped_contiguous.cuh"
#include "kernels/gemm_grouped_contiguous/gemm_grouped_contiguous.h"
#include "kernels/gemm_grouped_contiguous/gemm_grouped_spread.cuh"
#include "kernels/support/keep_operands.cuh"

/* The end of a job of one set is that of 05. */
using tile = gemm_grouped_spread_tile<2, 128>;
using wide = gemm_grouped_direct_tile<2, 1, 192>;
using narrow = gemm_grouped_direct_tile<2, 1, 144>;

static const struct gemm_grouped_compiled compiled[] = {gemm_grouped_compile_spread<tile, gemm_grouped_contiguous>(),
                                                        gemm_grouped_compile_direct<wide, gemm_grouped_contiguous>(),
                                                        gemm_grouped_compile_direct<narrow, gemm_grouped_contiguous>()};
static const struct gemm_grouped_table table = {compiled, sizeof compiled / sizeof *compiled, 2, false};

using hooks = gemm_grouped_hooks<table, contiguous_passes>;

extern "C" const struct ridge_variant ridge_variant_gemm_grouped_contiguous_06_spread_stores = {
    .idea = "05 with the stores of a job between the WGMMAs of three sets, and nothing else between WGMMAs",
    .source = "gemm_fp8_block_11 and _14",
    .changes = "stores are predicated and spread; every stage has its job and a consumer keeps none; a stage is given "
               "back when its WGMMAs are done; jobs that write only some rows are stored before the next products",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = gemm_grouped_unsupported,
    .issued = hooks::issued,
    .setup = hooks::setup,
    .teardown = free,
    .describe = gemm_grouped_describe,
    .launch = gemm_grouped_launch,
    .plans = hooks::plans,
    .kernel = (const void *)gemm_grouped_spread<tile, gemm_grouped_contiguous>,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_grouped_masked/gemm_grouped_masked.cuh"
#include "kernels/gemm_grouped_contiguous/gemm_grouped_direct.cuh"
#include "kernels/support/keep_operands.cuh"

#define TILES(X) X(2, 2, 128) X(3, 1, 128) X(2, 1, 192)

#define COMPILED(...) gemm_grouped_compile_direct<gemm_grouped_direct_tile<__VA_ARGS__>, gemm_grouped_masked>(),
static const struct gemm_grouped_compiled compiled[] = {TILES(COMPILED)};
static const struct gemm_grouped_table table = {compiled, sizeof compiled / sizeof *compiled, 2, true};

using hooks = gemm_grouped_hooks<table, masked_passes>;

extern "C" const struct ridge_variant ridge_variant_gemm_grouped_masked_06_direct_store = {
    .idea =
        "05 with totals that go from the registers to D, and rows of B in an order that makes whole sectors of them",
    .source = "gemm_fp8_block_09",
    .changes = "no slabs and no waits for copies of results; scales of B come with the stage; the next stage is waited "
               "for before "
               "the promotion, not after",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = gemm_grouped_unsupported,
    .issued = hooks::issued,
    .setup = hooks::setup,
    .teardown = free,
    .describe = gemm_grouped_describe,
    .launch = gemm_grouped_launch,
    .plans = hooks::plans,
    .kernel = (const void *)gemm_grouped_direct<gemm_grouped_direct_tile<2, 2, 128>, gemm_grouped_masked>,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_fp8_block/gemm_fp8_block_one_wave_host.cuh"

extern "C" const struct ridge_variant ridge_variant_gemm_fp8_block_15_one_wave = {
    .idea = "for at most 128 rows of A and a whole k: a CTA has all of them, and its share of B in one tile",
    .source = "PTX ISA 9.0, 9.7.9.25.5.2 (cp.async.bulk.tensor) and 9.7.9.18 (createpolicy)",
    .changes =
        "of 13: rows of A are the wgmma's rows, so no totals meet; no more of B in flight than DRAM needs; D in pieces",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = one_wave_unsupported,
    .issued = one_wave_issued,
    .setup = one_wave_setup,
    .teardown = free,
    .describe = one_wave_describe,
    .launch = one_wave_launch,
    .plans = one_wave_list,
    .kernel = (const void *)gemm_fp8_block_one_wave<one_wave_tile<128, 128>>,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_hbm_copy/hbm_copy.cuh"

extern "C" const struct ridge_variant ridge_variant_ceiling_hbm_copy_04_small_cta = {
    .idea = "2 loads of 16 bytes, then 2 stores, 16 KiB a CTA of 512 threads, default cache policy",
    .source = "PTX ISA 9.0, 9.7.9.1",
    .changes = "less in flight a CTA, so that what the chip reads and writes at one time lies in fewer DRAM pages",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .launch = hbm_copy_launch<512, 2, ld_global_v4, st_global_v4>,
    .kernel = (const void *)hbm_copy<512, 2, ld_global_v4, st_global_v4>,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_hbm_write/hbm_write.cuh"

extern "C" const struct ridge_variant ridge_variant_ceiling_hbm_write_03_through = {
    .idea = "16-byte stores written through (.wt)",
    .source = "PTX ISA 9.0, 9.7.9.1",
    .changes = "the cache operator",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .launch = hbm_write_launch<st_global_through_v4>,
    .kernel = (const void *)hbm_write<st_global_through_v4>,
};

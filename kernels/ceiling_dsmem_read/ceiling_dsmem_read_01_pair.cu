/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_dsmem_read/dsmem_read.cuh"

extern "C" const struct ridge_variant ridge_variant_ceiling_dsmem_read_01_pair = {
    .idea = "clusters of 2 CTAs, each reads all of the other's table in every pass",
    .source = "PTX ISA 9.0, 9.7.9.23",
    .changes = "",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .setup = dsmem_setup<2>,
    .launch = dsmem_launch<2>,
    .kernel = (const void *)dsmem_read<2>,
};

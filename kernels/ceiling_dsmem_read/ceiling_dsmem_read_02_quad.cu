/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_dsmem_read/dsmem_read.cuh"

extern "C" const struct ridge_variant ridge_variant_ceiling_dsmem_read_02_quad = {
    .idea = "clusters of 4 CTAs, each reads its two neighbours in turn",
    .source = "PTX ISA 9.0, 9.7.9.23",
    .changes = "the reads of an SM come from two others and cross the network of the cluster",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .setup = dsmem_setup<4>,
    .launch = dsmem_launch<4>,
    .kernel = (const void *)dsmem_read<4>,
};

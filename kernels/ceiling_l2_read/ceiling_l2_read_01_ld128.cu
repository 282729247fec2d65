/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_l2_read/l2_read.cuh"

extern "C" const struct ridge_variant ridge_variant_ceiling_l2_read_01_ld128 = {
    .idea = "1024 threads an SM, 4 loads of 16 bytes in flight each, coherent at L2 (.cg)",
    .source = "PTX ISA 9.0, 9.7.9.1",
    .changes = "",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .unsupported = l2_unsupported,
    .launch = l2_launch<ld_global_l2_v4>,
    .kernel = (const void *)l2_read<ld_global_l2_v4>,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_l2_read/l2_read.cuh"

extern "C" const struct ridge_variant ridge_variant_ceiling_l2_read_02_read_only = {
    .idea = "the same through the read-only path without allocation in L1 (.nc, L1::no_allocate)",
    .source = "PTX ISA 9.0, 9.7.9.1",
    .changes = "the loads are not coherent, so the near L2 partition may answer for the far one",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .unsupported = l2_unsupported,
    .launch = l2_launch<ld_global_stream_v4>,
    .kernel = (const void *)l2_read<ld_global_stream_v4>,
};

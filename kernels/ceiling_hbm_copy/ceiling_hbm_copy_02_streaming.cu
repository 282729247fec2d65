/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_hbm_copy/hbm_copy.cuh"

extern "C" const struct ridge_variant ridge_variant_ceiling_hbm_copy_02_streaming = {
    .idea = "the same with streaming stores (.cs)",
    .source = "PTX ISA 9.0, 9.7.9.1",
    .changes = "the cache operator of the stores",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .launch = hbm_copy_launch<256, 8, ld_global_stream_v4, st_global_stream_v4>,
    .kernel = (const void *)hbm_copy<256, 8, ld_global_stream_v4, st_global_stream_v4>,
};

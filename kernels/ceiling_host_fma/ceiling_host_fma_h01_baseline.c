/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_host_fma/ceiling_host_fma.h"

HOST_FMA_LAUNCH(, 16)

const struct ridge_variant ridge_variant_ceiling_host_fma_h01_baseline = {
    .idea = "vectors of 16 bytes, baseline instruction set (x86-64: a multiplication and an addition)",
    .source = "",
    .changes = "",
    .kind = RIDGE_HOST,
    .launch = launch,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_host_fma/ceiling_host_fma.h"

#ifdef __x86_64__
HOST_FMA_LAUNCH(__attribute__((target("avx2,fma"))), 32)
#define SUPPORTED (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
#else
HOST_FMA_LAUNCH(, 16)
#define SUPPORTED 0
#endif

static const char *unsupported(const int64_t *dim, const struct ridge_device *device)
{
    (void)dim;
    (void)device;
    return SUPPORTED ? NULL : "the CPU has no AVX2 with FMA";
}

const struct ridge_variant ridge_variant_ceiling_host_fma_h02_avx2 = {
    .idea = "AVX2: fused multiply-adds on vectors of 32 bytes",
    .source = "",
    .changes = "twice as many lanes, one instruction instead of two",
    .kind = RIDGE_HOST,
    .unsupported = unsupported,
    .launch = launch,
};

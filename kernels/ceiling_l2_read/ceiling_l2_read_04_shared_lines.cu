/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_l2_read/l2_read_ring.cuh"

constexpr int SHARERS = 4;

static const char *unsupported(const int64_t *dim, const struct ridge_device *device)
{
    return l2_ring_unsupported(dim, device, SHARERS);
}

static int launch(const struct ridge_call *call)
{
    return l2_ring_launch(call, SHARERS);
}

extern "C" const struct ridge_variant ridge_variant_ceiling_l2_read_04_shared_lines = {
    .idea = "four SMs read the same stages in the same order, each a quarter of the passes",
    .source = "",
    .changes = "a line is wanted by four SMs at about the same time, as those of GEMM tiles are",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = unsupported,
    .launch = launch,
    .kernel = (const void *)l2_read_ring,
};

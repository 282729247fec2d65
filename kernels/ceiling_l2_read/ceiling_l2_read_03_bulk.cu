/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_l2_read/l2_read_ring.cuh"

static const char *unsupported(const int64_t *dim, const struct ridge_device *device)
{
    return l2_ring_unsupported(dim, device, 1);
}

static int launch(const struct ridge_call *call)
{
    return l2_ring_launch(call, 1);
}

extern "C" const struct ridge_variant ridge_variant_ceiling_l2_read_03_bulk = {
    .idea = "the copy engine (cp.async.bulk) fills a ring of eight 16 KiB stages, a warp a stage adds them up",
    .source = "PTX ISA 9.0, 9.7.9.25.4.1",
    .changes = "the path that tiled kernels use: L2 to shared memory without registers",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = unsupported,
    .launch = launch,
    .kernel = (const void *)l2_read_ring,
};

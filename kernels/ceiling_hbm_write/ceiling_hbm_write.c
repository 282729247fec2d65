/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kernels/ceiling_hbm_write/hbm_write.h"
#include "kernels/kernel.h"

static double dst_count(const int64_t *dim)
{
    return (double)dim[0] / 4;
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    (void)buffer;
    for (int64_t i = 0; i < dim[0] / 4; i++) {
        uint32_t bits = hbm_write_bits((uint32_t)i);
        float value;
        memcpy(&value, &bits, sizeof value);
        ref[0][i] = value;
        mag[0][i] = 0;
    }
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    work->bytes_hbm_write = (double)dim[0];
}

/* L2 holds back up to its size of dirty lines: 1.5 % of 4 GiB on an H200. */
static const struct ridge_shape shapes[] = {
    {.name = "1GiB", .level = RIDGE_FULL, .kind = RIDGE_CUDA, .dim = {INT64_C(1) << 30}},
    {.name = "4GiB", .level = RIDGE_QUICK, .kind = RIDGE_CUDA, .dim = {INT64_C(4) << 30}},
    {.name = "16GiB", .level = RIDGE_FULL, .kind = RIDGE_CUDA, .dim = {INT64_C(16) << 30}},
};

static const int64_t check_dims[][RIDGE_MAX_AXES] = {
    {HBM_BLOCK_BYTES}, {37 * HBM_BLOCK_BYTES}, {515 * HBM_BLOCK_BYTES}};

const struct ridge_family ridge_family_ceiling_hbm_write = {
    .problem = "writes dst once: dst[i] = 1 + frac(i * 2654435761 / 2^32), cut to 23 bits",
    .axes = 1,
    .axis = {{"bytes", HBM_BLOCK_BYTES, INT64_C(1) << 44, HBM_BLOCK_BYTES, "bytes written"}},
    .buffers = 1,
    .buffer = {{"dst", RIDGE_F32, RIDGE_OUTPUT, RIDGE_FILL_BITS, 0, dst_count}},
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .tolerance = {0, 0, "exact: the values are defined by their bits"},
    .reference = reference,
    .work = work,
};

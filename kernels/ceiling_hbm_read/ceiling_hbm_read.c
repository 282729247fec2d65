/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_hbm_read/hbm_read.h"

static double src_count(const int64_t *dim)
{
    return (double)dim[0] / 4;
}

static double sum_count(const int64_t *dim)
{
    return (double)dim[0] / HBM_PIECE_BYTES;
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    const uint32_t *src = buffer[0];
    for (int64_t piece = 0; piece < dim[0] / HBM_PIECE_BYTES; piece++) {
        uint32_t sum = 0;
        for (int64_t i = 0; i < HBM_PIECE_BYTES / 4; i++)
            sum ^= src[piece * (HBM_PIECE_BYTES / 4) + i];
        ref[0][piece] = sum;
        mag[0][piece] = 0;
    }
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    work->bytes_hbm_read = (double)dim[0];
    work->bytes_hbm_write = 4 * sum_count(dim);
}

/* A cold start leaves up to an L2 of dirty lines that are written back during the read: 1.5 % of 4 GiB, 0.4 % of 16. */
static const struct ridge_shape shapes[] = {
    {.name = "64MiB", .level = RIDGE_FULL, .kind = RIDGE_CUDA, .dim = {INT64_C(64) << 20}},
    {.name = "256MiB", .level = RIDGE_FULL, .kind = RIDGE_CUDA, .dim = {INT64_C(256) << 20}},
    {.name = "1GiB", .level = RIDGE_FULL, .kind = RIDGE_CUDA, .dim = {INT64_C(1) << 30}},
    {.name = "4GiB", .level = RIDGE_FULL, .kind = RIDGE_CUDA, .dim = {INT64_C(4) << 30}},
    {.name = "16GiB", .level = RIDGE_QUICK, .kind = RIDGE_CUDA, .dim = {INT64_C(16) << 30}},
};

static const int64_t check_dims[][RIDGE_MAX_AXES] = {
    {HBM_PIECE_BYTES}, {37 * HBM_PIECE_BYTES}, {2051 * HBM_PIECE_BYTES}};

const struct ridge_family ridge_family_ceiling_hbm_read = {
    .problem = "reads src once: sum[i] is the XOR of the 32-bit words of the i-th 8 KiB of src",
    .axes = 1,
    .axis = {{"bytes", HBM_PIECE_BYTES, INT64_C(1) << 44, HBM_PIECE_BYTES, "bytes read"}},
    .buffers = 2,
    .buffer =
        {
            {"src", RIDGE_U32, RIDGE_INPUT, RIDGE_FILL_BITS, 0, src_count},
            {"sum", RIDGE_U32, RIDGE_OUTPUT, RIDGE_FILL_BITS, 0, sum_count},
        },
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .tolerance = {0, 0, "exact: XOR does not depend on the order"},
    .reference = reference,
    .work = work,
};

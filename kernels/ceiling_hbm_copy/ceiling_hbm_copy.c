/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_hbm_copy/hbm_copy.h"
#include "kernels/kernel.h"

static double element_count(const int64_t *dim)
{
    return (double)dim[0] / 4;
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    for (int64_t i = 0; i < dim[0] / 4; i++) {
        ref[0][i] = ((const float *)buffer[0])[i];
        mag[0][i] = 0;
    }
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    work->bytes_hbm_read = (double)dim[0];
    work->bytes_hbm_write = (double)dim[0];
}

/* L2 holds back up to its size of dirty lines: 1.5 % of 4 GiB on an H200. */
static const struct ridge_shape shapes[] = {
    {.name = "1GiB", .level = RIDGE_FULL, .kind = RIDGE_CUDA, .dim = {INT64_C(1) << 30}},
    {.name = "4GiB", .level = RIDGE_QUICK, .kind = RIDGE_CUDA, .dim = {INT64_C(4) << 30}},
    {.name = "16GiB", .level = RIDGE_FULL, .kind = RIDGE_CUDA, .dim = {INT64_C(16) << 30}},
};

static const int64_t check_dims[][RIDGE_MAX_AXES] = {{HBM_COPY_BYTES}, {37 * HBM_COPY_BYTES}, {515 * HBM_COPY_BYTES}};

const struct ridge_family ridge_family_ceiling_hbm_copy = {
    .problem = "copies src to dst",
    .axes = 1,
    .axis = {{"bytes", HBM_COPY_BYTES, INT64_C(1) << 44, HBM_COPY_BYTES, "bytes of each side"}},
    .buffers = 2,
    .buffer =
        {
            {"src", RIDGE_F32, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, element_count},
            {"dst", RIDGE_F32, RIDGE_OUTPUT, RIDGE_FILL_BITS, 0, element_count},
        },
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .tolerance = {0, 0, "exact: a copy"},
    .reference = reference,
    .work = work,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_smem_read/smem_read.h"
#include "kernels/ceiling_smem_read/table_read.h"

static double src_count(const int64_t *dim)
{
    (void)dim;
    return SMEM_TABLE_BYTES / 4;
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    ref[0][0] = table_sum(buffer[0], SMEM_TABLE_BYTES) * (uint32_t)dim[0];
    mag[0][0] = 0;
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    work->bytes_smem = (double)dim[0] * SMEM_TABLE_BYTES;
}

static const struct ridge_shape shapes[] = TABLE_SHAPES(132 * 10000);
static const int64_t check_dims[][RIDGE_MAX_AXES] = {{1}, {77}, {100003}};

const struct ridge_family ridge_family_ceiling_smem_read = {
    .problem = "reads a table of 64 KiB from shared memory `passes` times, dealt to the SMs: sum is the sum of all "
               "words read, "
               "modulo 2^32",
    .axes = 1,
    .axis = {{"passes", 1, INT64_C(1) << 32, 1, "times that an SM reads its 64 KiB, over all SMs"}},
    .buffers = 2,
    .buffer = {TABLE_BUFFERS(src_count)},
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .tolerance = {0, 0, "exact: integer sums"},
    .reference = reference,
    .work = work,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_dsmem_read/dsmem_read.h"
#include "kernels/ceiling_smem_read/table_read.h"

static double src_count(const int64_t *dim)
{
    (void)dim;
    return DSMEM_TABLE_BYTES / 2;
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    const uint32_t *even = buffer[0], *odd = even + DSMEM_TABLE_BYTES / 4;
    ref[0][0] = table_sum(even, DSMEM_TABLE_BYTES) * (uint32_t)((dim[0] + 1) / 2) +
                table_sum(odd, DSMEM_TABLE_BYTES) * (uint32_t)(dim[0] / 2);
    mag[0][0] = 0;
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    work->bytes_dsmem = (double)dim[0] * DSMEM_TABLE_BYTES;
}

static const struct ridge_shape shapes[] = TABLE_SHAPES(132 * 2000);
static const int64_t check_dims[][RIDGE_MAX_AXES] = {{1}, {77}, {10003}};

const struct ridge_family ridge_family_ceiling_dsmem_read = {
    .problem = "reads a table of 64 KiB from another SM's shared memory `passes` times, pass p table p mod 2 of src: "
               "sum is the "
               "sum of all words read, modulo 2^32",
    .axes = 1,
    .axis = {{"passes", 1, INT64_C(1) << 32, 1, "times that an SM reads 64 KiB of another, over all SMs"}},
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

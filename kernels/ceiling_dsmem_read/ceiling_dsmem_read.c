/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_dsmem_read/dsmem_read.h"
#include "kernels/kernel.h"

static double src_count(const int64_t *dim)
{
    (void)dim;
    return DSMEM_TABLE_BYTES / 2;
}

static double sum_count(const int64_t *dim)
{
    (void)dim;
    return 1;
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    const uint32_t *src = buffer[0];
    uint32_t sum = 0;
    for (int64_t i = 0; i < DSMEM_TABLE_BYTES / 4; i++) {
        sum += src[i] * (uint32_t)((dim[0] + 1) / 2);
        sum += src[DSMEM_TABLE_BYTES / 4 + i] * (uint32_t)(dim[0] / 2);
    }
    ref[0][0] = sum;
    mag[0][0] = 0;
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    work->bytes_dsmem = (double)dim[0] * DSMEM_TABLE_BYTES;
}

static const struct ridge_shape shapes[] = {
    {.name = "passes", .level = RIDGE_QUICK, .kind = RIDGE_CUDA, .dim = {132 * 2000}},
};

static const int64_t check_dims[][RIDGE_MAX_AXES] = {{1}, {77}, {10003}};

const struct ridge_family ridge_family_ceiling_dsmem_read = {
    .problem = "reads a table of 64 KiB from another SM's shared memory `passes` times, pass p table p mod 2 of src: "
               "sum is the "
               "sum of all words read, modulo 2^32",
    .axes = 1,
    .axis = {{"passes", 1, INT64_C(1) << 32, 1, "times that an SM reads 64 KiB of another, over all SMs"}},
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
    .tolerance = {0, 0, "exact: integer sums"},
    .reference = reference,
    .work = work,
};

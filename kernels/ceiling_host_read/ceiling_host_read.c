/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/support/host_stream.h"

enum { BYTES, PASSES };

static const struct ridge_shape shapes[] = {HOST_STREAM_SHAPES};
static const int64_t check_dims[][RIDGE_MAX_AXES] = {{4, 1}, {60, 3}, {4096, 2}, {100004, 5}, {65536, 1}};

static double count_src(const int64_t *dim)
{
    return (double)dim[BYTES] / 4;
}

static double count_sum(const int64_t *dim)
{
    (void)dim;
    return 1;
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    const uint32_t *src = buffer[0];
    uint32_t sum = 0;
    for (int64_t i = 0; i < dim[BYTES] / 4; i++)
        sum += src[i];
    ref[0][0] = sum * (uint32_t)dim[PASSES];
    mag[0][0] = 0;
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    host_stream_work(dim[BYTES], (double)dim[BYTES] * (double)dim[PASSES], 0, work);
}

const struct ridge_family ridge_family_ceiling_host_read = {
    .problem = "sum of 32-bit words, modulo 2^32, of a working set that is read `passes` times by all cores",
    .axes = 2,
    .axis =
        {
            {"bytes", 4, 1ll << 40, 4, "working set, divided among the threads"},
            {"passes", 1, 1 << 30, 1, "times it is gone through"},
        },
    .buffers = 2,
    .buffer =
        {
            {"src", RIDGE_U32, RIDGE_INPUT, RIDGE_FILL_BITS, 0, count_src},
            {"sum", RIDGE_U32, RIDGE_OUTPUT, RIDGE_FILL_BITS, 0, count_sum},
        },
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .tolerance = {0, 0, "integers: exact"},
    .reference = reference,
    .work = work,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/support/host_stream.h"

enum { BYTES, PASSES };

static const struct ridge_shape shapes[] = {HOST_STREAM_SHAPES};
static const int64_t check_dims[][RIDGE_MAX_AXES] = {{8, 1}, {56, 3}, {4096, 2}, {100008, 5}, {65536, 1}};

static double count(const int64_t *dim)
{
    return (double)dim[BYTES] / 8;
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    const uint32_t *src = buffer[0];
#pragma omp parallel for
    for (int64_t i = 0; i < dim[BYTES] / 8; i++) {
        ref[0][i] = src[i];
        mag[0][i] = 0;
    }
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    const double side = (double)dim[BYTES] / 2 * (double)dim[PASSES];
    host_stream_work(dim[BYTES], side, side, work);
}

const struct ridge_family ridge_family_ceiling_host_copy = {
    .problem = "copy of one half of a working set to the other, `passes` times, by all cores",
    .axes = 2,
    .axis =
        {
            {"bytes", 8, 1ll << 40, 8, "working set, half source and half destination, divided among the threads"},
            {"passes", 1, 1 << 30, 1, "times it is gone through"},
        },
    .buffers = 2,
    .buffer =
        {
            {"src", RIDGE_U32, RIDGE_INPUT, RIDGE_FILL_BITS, 0, count},
            {"dst", RIDGE_U32, RIDGE_OUTPUT, RIDGE_FILL_BITS, 0, count},
        },
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .tolerance = {0, 0, "copied bits: exact"},
    .reference = reference,
    .work = work,
};

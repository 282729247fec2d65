/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "kernels/support/host_stream.h"

enum { BYTES, PASSES };

static const struct ridge_shape shapes[] = {HOST_STREAM_SHAPES};
static const int64_t check_dims[][RIDGE_MAX_AXES] = {{12, 1}, {60, 3}, {4096, 2}, {100004, 5}, {65536, 1}};

static double count(const int64_t *dim)
{
    return (double)(dim[BYTES] / 12);
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    const float *b = buffer[0], *c = buffer[1];
#pragma omp parallel for
    for (int64_t i = 0; i < dim[BYTES] / 12; i++) {
        ref[0][i] = b[i] + 3.0 * c[i];
        mag[0][i] = fabs(b[i]) + 3 * fabs(c[i]);
    }
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    const double array = 4 * count(dim) * (double)dim[PASSES];
    host_stream_work(dim[BYTES], 2 * array, array, work);
    work->flop_fp32 = array / 2;
}

const struct ridge_family ridge_family_ceiling_host_triad = {
    .problem = "a = b + 3 c on FP32 arrays, a third of the working set each, `passes` times, by all cores",
    .axes = 2,
    .axis =
        {
            {"bytes", 12, 1ll << 40, 4,
             "working set, three arrays (a third each, rounded down), divided among the threads"},
            {"passes", 1, 1 << 30, 1, "times it is gone through"},
        },
    .buffers = 3,
    .buffer =
        {
            {"b", RIDGE_F32, RIDGE_INPUT, RIDGE_FILL_UNIFORM, 1, count},
            {"c", RIDGE_F32, RIDGE_INPUT, RIDGE_FILL_UNIFORM, 1, count},
            {"a", RIDGE_F32, RIDGE_OUTPUT, RIDGE_FILL_UNIFORM, 0, count},
        },
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .tolerance = {0, 0x1p-23, "a product and a sum rounded to FP32: 2 2^-24 of |b| + 3 |c|"},
    .reference = reference,
    .work = work,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_host_fma/ceiling_host_fma.h"

#include <math.h>

enum { ITERS };

static double count(const int64_t *dim)
{
    (void)dim;
    return HOST_FMA_CHUNKS * HOST_FMA_CHUNK;
}

static const struct ridge_shape shapes[] = {
    {"1000", RIDGE_QUICK, RIDGE_HOST, {1000}},
    {"4000", RIDGE_STANDARD, RIDGE_HOST, {4000}},
};

static const int64_t check_dims[][RIDGE_MAX_AXES] = {{1}, {2}, {3}, {17}, {1000}};

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    const float *x = buffer[0];
    const double shrink = pow(HOST_FMA_A, (double)dim[ITERS]), steps = fmin((double)dim[ITERS], 1 / HOST_FMA_B);
    for (int64_t i = 0; i < HOST_FMA_CHUNKS * HOST_FMA_CHUNK; i++) {
        ref[0][i] = 1 + (x[i] - 1.0) * shrink;
        mag[0][i] = steps * (1 + fabs(x[i]));
    }
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    work->flop_fp32 = 2 * count(dim) * (double)dim[ITERS];
}

const struct ridge_family ridge_family_ceiling_host_fma = {
    .problem = "x = x (1 - 2^-10) + 2^-10, `iters` times, FP32, on 184320 independent elements by all cores",
    .axes = 1,
    .axis = {{"iters", 1, 1 << 30, 1, "multiply-adds an element"}},
    .buffers = 2,
    .buffer =
        {
            {"x", RIDGE_F32, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, count},
            {"out", RIDGE_F32, RIDGE_OUTPUT, RIDGE_FILL_NORMAL, 0, count},
        },
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .tolerance = {0, 0x1p-23,
                  "two roundings a step, 2^-24 of at most 1 + |x| each; errors shrink by 1 - 2^-10 a step, so at most "
                  "min(iters, 2^10) of them add up (mag holds that factor)"},
    .reference = reference,
    .work = work,
};

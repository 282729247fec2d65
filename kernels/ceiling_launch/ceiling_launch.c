/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernel.h"

static double token_count(const int64_t *dim)
{
    return (double)dim[0];
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    (void)buffer;
    for (int64_t i = 0; i < dim[0]; i++) {
        ref[0][i] = (double)(i + 1);
        mag[0][i] = 0;
    }
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    work->launches = (double)dim[0];
}

static const struct ridge_shape shapes[] = {
    {.name = "one", .level = RIDGE_QUICK, .kind = RIDGE_CUDA, .dim = {1}},
    {.name = "chain", .level = RIDGE_QUICK, .kind = RIDGE_CUDA, .dim = {20}},
};

static const int64_t check_dims[][RIDGE_MAX_AXES] = {{1}, {3}, {20}};

const struct ridge_family ridge_family_ceiling_launch = {
    .problem = "`launches` kernels that do nothing, each after the one before: kernel i writes token[i] = i + 1",
    .axes = 1,
    .axis = {{"launches", 1, 1024, 1, "kernels in a row"}},
    .buffers = 1,
    .buffer = {{"token", RIDGE_I32, RIDGE_OUTPUT, RIDGE_FILL_BITS, 0, token_count}},
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .tolerance = {0, 0, "exact"},
    .reference = reference,
    .work = work,
};

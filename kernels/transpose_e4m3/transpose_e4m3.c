/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_grouped_k/gemm_grouped_k_split.h"
#include "kernels/transpose_e4m3/transpose_e4m3.h"

static double count_bytes(const int64_t *dim)
{
    return (double)dim[TRANSPOSE_M] * (double)dim[TRANSPOSE_K];
}

static double count_ks(const int64_t *dim)
{
    return (double)dim[TRANSPOSE_GROUPS];
}

static const struct ridge_shape shapes[] = {
    {"experts-4x4096-7168", RIDGE_QUICK, RIDGE_CUDA, {4, 7168, 4 * 4096}},
    {"experts-4x4096-2048", RIDGE_FULL, RIDGE_CUDA, {4, 2048, 4 * 4096}},
    {"experts-8x4096-7168", RIDGE_FULL, RIDGE_CUDA, {8, 7168, 8 * 4096}},
    {"one-16384-7168", RIDGE_FULL, RIDGE_CUDA, {1, 7168, 16384}},
};
static const int64_t check_dims[][RIDGE_MAX_AXES] = {{1, 1, 128},    {1, 16, 128},   {3, 7, 384},   {2, 128, 256},
                                                     {5, 144, 1280}, {40, 48, 8192}, {4, 272, 640}, {3, 640, 1152}};

static void fill(const int64_t *dim, int hard, uint64_t seed, void *const *buffer)
{
    grouped_k_split(buffer[TRANSPOSE_KS], dim[TRANSPOSE_GROUPS], dim[TRANSPOSE_K] / GROUPED_K_BLOCK,
                    hard == 1   ? GROUPED_K_ONE_GROUP
                    : hard == 2 ? GROUPED_K_EMPTY_GROUPS
                                : GROUPED_K_UNEVEN,
                    seed);
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    const int64_t m = dim[TRANSPOSE_M];
    const uint8_t *x = buffer[TRANSPOSE_X];
    const int32_t *ks = buffer[TRANSPOSE_KS];
    for (int64_t g = 0, first = 0; g < dim[TRANSPOSE_GROUPS]; first += ks[g++])
        for (int64_t row = 0; row < m; row++)
            for (int64_t i = 0; i < ks[g]; i++) {
                ref[0][m * first + row * ks[g] + i] = x[(first + i) * m + row];
                mag[0][m * first + row * ks[g] + i] = 0;
            }
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    work->bytes_hbm_read = count_bytes(dim) + 4 * count_ks(dim);
    work->bytes_hbm_write = count_bytes(dim);
}

const struct ridge_family ridge_family_transpose_e4m3 = {
    .problem =
        "Y[g] [m,k_g] = X[g] [k_g,m]^T, bytes, groups along k one behind the other in both; k_g from ks, multiples "
        "of 128 whose sum is k",
    .axes = 3,
    .axis = {{"groups", 1, GROUPED_K_MAX_GROUPS, 1, "matrices"},
             {"m", 1, 1 << 20, 1, "columns of X, rows of Y"},
             {"k", GROUPED_K_BLOCK, 1 << 20, GROUPED_K_BLOCK, "rows of X of all groups together"}},
    .buffers = 3,
    .buffer =
        {
            {"x", RIDGE_U8, RIDGE_INPUT, RIDGE_FILL_BITS, 0, count_bytes},
            {"ks", RIDGE_I32, RIDGE_INPUT, RIDGE_FILL_CUSTOM, 0, count_ks},
            {"y", RIDGE_U8, RIDGE_OUTPUT, RIDGE_FILL_BITS, 0, count_bytes},
        },
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .cases = (const char *const[]){"one_group", "empty_groups", NULL},
    .tolerance = {0, 0, "exact: bytes are moved"},
    .fill = fill,
    .reference = reference,
    .work = work,
};

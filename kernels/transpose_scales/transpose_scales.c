/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernel.h"
#include "kernels/support/block_scale.h"
#include "kernels/support/fill.h"

enum { M, K };

static double count_in(const int64_t *dim)
{
    return (double)dim[M] * (double)block_scale_count(dim[K]);
}

static double count_out(const int64_t *dim)
{
    return (double)block_scale_pitch(dim[M]) * (double)block_scale_count(dim[K]);
}

static const struct ridge_shape shapes[] = {
    {"1048576x7168", RIDGE_QUICK, RIDGE_CUDA, {1 << 20, 7168}},
    {"4194304x2048", RIDGE_FULL, RIDGE_CUDA, {1 << 22, 2048}},
    {"1000003x7168", RIDGE_FULL, RIDGE_CUDA, {1000003, 7168}},
    {"262144x7168", RIDGE_FULL, RIDGE_CUDA, {1 << 18, 7168}},
    {"524288x18432", RIDGE_FULL, RIDGE_CUDA, {1 << 19, 18432}},
    {"4096x7168", RIDGE_FULL, RIDGE_CUDA, {4096, 7168}},
};

static const int64_t check_dims[][RIDGE_MAX_AXES] = {
    {1, 1},    {4, 128},   {3, 257},    {129, 129 * 128},  {130, 1024},
    {257, 18}, {31, 2048}, {513, 7168}, {1027, 100 * 128}, {77, 512 * 128},
};

static const char *const cases[] = {"bits", NULL};

static void fill(const int64_t *dim, int hard, uint64_t seed, void *const *buffer)
{
    uint32_t *in = buffer[0];
    for (int64_t i = 0; hard && i < (int64_t)count_in(dim); i++)
        in[i] = (uint32_t)fill_hash(seed, (uint64_t)i);
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    const uint32_t *in = buffer[0];
    const int64_t m = dim[M], pitch = block_scale_pitch(m), blocks = block_scale_count(dim[K]);
    for (int64_t i = 0; i < blocks * pitch; i++) {
        ref[0][i] = i % pitch < m ? in[i % pitch * blocks + i / pitch] : 0;
        mag[0][i] = 0;
    }
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    work->bytes_hbm_read = 4 * count_in(dim);
    work->bytes_hbm_write = 4 * count_out(dim);
}

static int64_t output_columns(const int64_t *dim)
{
    return block_scale_pitch(dim[M]);
}

const struct ridge_family ridge_family_transpose_scales = {
    .problem = "scales in[m,ceil(k/128)] F32 to the M-major layout of FP8 GEMMs, out[ceil(k/128)][m rounded up to 4], "
               "whose padding is 0; compared as bits",
    .axes = 2,
    .axis = {{"m", 1, 1 << 30, 1, "rows"}, {"k", 1, 1 << 24, 1, "columns of the matrix that was quantised"}},
    .buffers = 2,
    .buffer =
        {
            {"in", RIDGE_F32, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, count_in},
            {"out", RIDGE_U32, RIDGE_OUTPUT, RIDGE_FILL_BITS, 0, count_out},
        },
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .cases = cases,
    .tolerance = {0, 0, "exact: bits are moved"},
    .fill = fill,
    .reference = reference,
    .work = work,
    .output_columns = output_columns,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernel.h"
#include "kernels/support/block_scale.h"

#include <string.h>

enum { M, K };
enum { X, CODES, SCALE };

static double count_x(const int64_t *dim)
{
    return (double)dim[M] * (double)dim[K];
}

static double count_scale(const int64_t *dim)
{
    return (double)block_scale_count(dim[K]) * (double)block_scale_pitch(dim[M]);
}

static const struct ridge_shape shapes[] = {
    {"16384x7168", RIDGE_QUICK, RIDGE_CUDA, {16384, 7168}}, {"4096x7168", RIDGE_FULL, RIDGE_CUDA, {4096, 7168}},
    {"65536x7168", RIDGE_FULL, RIDGE_CUDA, {65536, 7168}},  {"65536x2048", RIDGE_FULL, RIDGE_CUDA, {65536, 2048}},
    {"8192x16384", RIDGE_FULL, RIDGE_CUDA, {8192, 16384}},  {"128x7168", RIDGE_FULL, RIDGE_CUDA, {128, 7168}},
};

static const int64_t check_dims[][RIDGE_MAX_AXES] = {
    {1, 1}, {4, 128}, {3, 16}, {5, 144}, {7, 130}, {130, 512}, {33, 1168}, {9, 7168}, {257, 2000}, {40, 2048},
};

static void fill(const int64_t *dim, int hard, uint64_t seed, void *const *buffer)
{
    block_scale_harden(hard, seed, dim[M], dim[K], buffer[X]);
}

static void quantise(const uint16_t *x, int64_t count, double *code, double *scale)
{
    uint32_t amax = 0;
    for (int64_t i = 0; i < count; i++)
        amax = block_scale_larger(amax, x[i]);
    const float by = block_scale_of(bf16_to_f32((uint16_t)amax));
    for (int64_t i = 0; i < count; i++)
        code[i] = block_scale_code(bf16_to_f32(x[i]), 1 / by);
    *scale = f32_bits(by);
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    const uint16_t *x = buffer[X];
    const int64_t m = dim[M], k = dim[K], pitch = block_scale_pitch(m);
    memset(mag[0], 0, (size_t)(m * k) * sizeof(double));
    memset(mag[1], 0, (size_t)count_scale(dim) * sizeof(double));
    for (int64_t block = 0; block < block_scale_count(k); block++)
        for (int64_t row = 0; row < pitch; row++) {
            const int64_t at = row * k + block * 128, rest = k - block * 128;
            ref[1][block * pitch + row] = 0;
            if (row < m)
                quantise(x + at, rest < 128 ? rest : 128, ref[0] + at, &ref[1][block * pitch + row]);
        }
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    work->flop_fp32 = count_x(dim);
    work->bytes_hbm_read = 2 * count_x(dim);
    work->bytes_hbm_write = count_x(dim) + 4 * count_scale(dim);
}

static int64_t output_columns(const int64_t *dim)
{
    return dim[K];
}

const struct ridge_family ridge_family_quantise_1x128 = {
    .problem = "x[m,k] BF16 to codes[m,k] e4m3 with a scale a row and 128 of k, max(amax, 1e-4) / 448, in scale "
               "[ceil(k/128)][m rounded up to 4] F32, whose padding is 0; codes and scales are compared as bits",
    .axes = 2,
    .axis = {{"m", 1, 1 << 30, 1, "rows"}, {"k", 1, 1 << 24, 1, "columns"}},
    .buffers = 3,
    .buffer =
        {
            {"x", RIDGE_BF16, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, count_x},
            {"codes", RIDGE_U8, RIDGE_OUTPUT, RIDGE_FILL_BITS, 0, count_x},
            {"scale", RIDGE_U32, RIDGE_OUTPUT, RIDGE_FILL_BITS, 0, count_scale},
        },
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .cases = block_scale_cases,
    .tolerance = {0, 0, "exact: every step is one rounded FP32 operation (kernels/support/block_scale.h)"},
    .fill = fill,
    .reference = reference,
    .work = work,
    .output_columns = output_columns,
};

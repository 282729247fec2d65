/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernel.h"
#include "kernels/support/block_scale.h"

#include <string.h>

enum { N, K };
enum { X, CODES, SCALE };

static double count_x(const int64_t *dim)
{
    return (double)dim[N] * (double)dim[K];
}

static double count_scale(const int64_t *dim)
{
    return (double)block_scale_count(dim[N]) * (double)block_scale_count(dim[K]);
}

static const struct ridge_shape shapes[] = {
    {"16384x7168", RIDGE_QUICK, RIDGE_CUDA, {16384, 7168}}, {"4096x7168", RIDGE_FULL, RIDGE_CUDA, {4096, 7168}},
    {"7168x16384", RIDGE_FULL, RIDGE_CUDA, {7168, 16384}},  {"65536x7168", RIDGE_FULL, RIDGE_CUDA, {65536, 7168}},
    {"24576x1536", RIDGE_FULL, RIDGE_CUDA, {24576, 1536}},
};

static const int64_t check_dims[][RIDGE_MAX_AXES] = {
    {1, 1}, {128, 128}, {3, 16}, {129, 144}, {7, 130}, {384, 512}, {200, 1168}, {127, 2000},
};

static void fill(const int64_t *dim, int hard, uint64_t seed, void *const *buffer)
{
    block_scale_harden(hard, seed, dim[N], dim[K], buffer[X]);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void quantise(const int64_t *dim, const uint16_t *x, int64_t down, int64_t right, double *code, double *scale)
{
    const int64_t k = dim[K], rows = least(dim[N], 128 * down + 128), columns = least(k, 128 * right + 128);
    uint32_t amax = 0;
    for (int64_t row = 128 * down; row < rows; row++)
        for (int64_t column = 128 * right; column < columns; column++)
            amax = block_scale_larger(amax, x[row * k + column]);
    const float by = block_scale_of(bf16_to_f32((uint16_t)amax));
    for (int64_t row = 128 * down; row < rows; row++)
        for (int64_t column = 128 * right; column < columns; column++)
            code[row * k + column] = block_scale_code(bf16_to_f32(x[row * k + column]), 1 / by);
    *scale = f32_bits(by);
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    const int64_t across = block_scale_count(dim[K]), tiles = (int64_t)count_scale(dim);
    memset(mag[0], 0, (size_t)count_x(dim) * sizeof(double));
    memset(mag[1], 0, (size_t)tiles * sizeof(double));
    for (int64_t tile = 0; tile < tiles; tile++)
        quantise(dim, buffer[X], tile / across, tile % across, ref[0], &ref[1][tile]);
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

const struct ridge_family ridge_family_quantise_128x128 = {
    .problem = "x[n,k] BF16 to codes[n,k] e4m3 with a scale a block of 128 x 128, max(amax, 1e-4) / 448, in scale "
               "[ceil(n/128)][ceil(k/128)] F32; codes and scales are compared as bits",
    .axes = 2,
    .axis = {{"n", 1, 1 << 30, 1, "rows"}, {"k", 1, 1 << 24, 1, "columns"}},
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

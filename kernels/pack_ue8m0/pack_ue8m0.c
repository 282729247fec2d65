/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernel.h"
#include "kernels/support/block_scale.h"
#include "kernels/support/fill.h"

enum { M, K };
enum { BITS = 1, POWERS };

static double count_in(const int64_t *dim)
{
    return (double)dim[M] * (double)block_scale_count(dim[K]);
}

static double count_out(const int64_t *dim)
{
    return (double)block_scale_pitch(dim[M]) * (double)block_scale_words(dim[K]);
}

static const struct ridge_shape shapes[] = {
    {"1048576x7168", RIDGE_QUICK, RIDGE_CUDA, {1 << 20, 7168}},
    {"4194304x2048", RIDGE_FULL, RIDGE_CUDA, {1 << 22, 2048}},
    {"1000003x7168", RIDGE_FULL, RIDGE_CUDA, {1000003, 7168}},
    {"1048576x7296", RIDGE_FULL, RIDGE_CUDA, {1 << 20, 7296}},
    {"524288x18432", RIDGE_FULL, RIDGE_CUDA, {1 << 19, 18432}},
    {"4096x7168", RIDGE_FULL, RIDGE_CUDA, {4096, 7168}},
};

static const int64_t check_dims[][RIDGE_MAX_AXES] = {
    {1, 1},    {4, 512},   {3, 257},    {129, 129 * 128},  {130, 1024},
    {257, 18}, {31, 2048}, {513, 7168}, {1027, 102 * 128}, {77, 512 * 128},
};

static const char *const cases[] = {"bits", "powers", NULL};

/* Powers of two and their neighbours: where rounding up begins. */
static void fill(const int64_t *dim, int hard, uint64_t seed, void *const *buffer)
{
    uint32_t *in = buffer[0];
    for (int64_t i = 0; hard && i < (int64_t)count_in(dim); i++) {
        const uint64_t bits = fill_hash(seed, (uint64_t)i);
        in[i] = hard == BITS ? (uint32_t)bits : (uint32_t)((bits % 256 << 23) + (bits >> 8) % 3 - 1) & 0x7fffffff;
    }
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    const float *in = buffer[0];
    const int64_t m = dim[M], pitch = block_scale_pitch(m), blocks = block_scale_count(dim[K]);
    for (int64_t i = 0; i < block_scale_words(dim[K]) * pitch; i++) {
        const int64_t row = i % pitch, first = i / pitch * 4;
        uint32_t word = 0;
        for (int64_t j = 0; row < m && j < 4 && first + j < blocks; j++)
            word |= (uint32_t)ue8m0_from_f32(in[row * blocks + first + j]) << 8 * j;
        ref[0][i] = word;
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

const struct ridge_family ridge_family_pack_ue8m0 = {
    .problem = "scales in[m,ceil(k/128)] F32, rounded up to powers of two, to out[ceil(k/512)][m rounded up to 4] of "
               "words of four UE8M0 codes, the first block of k in the low byte; codes of what is not there are 0",
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
    .tolerance = {0, 0, "exact: ue8m0_from_f32 of kernels/support/numeric.h, by integers"},
    .fill = fill,
    .reference = reference,
    .work = work,
    .output_columns = output_columns,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_grouped_k/gemm_grouped_k.h"
#include "kernels/gemm_grouped_k/gemm_grouped_k_split.h"
#include "kernels/gemm_fp8_block_1d1d/gemm_fp8_block_1d1d.h"
#include "kernels/gemm_fp8_tensor/gemm_fp8.h"

#include <string.h>

static double count_a(const int64_t *dim)
{
    return (double)dim[GROUPED_K_M] * (double)dim[GROUPED_K_K];
}

static double count_b(const int64_t *dim)
{
    return (double)dim[GROUPED_K_N] * (double)dim[GROUPED_K_K];
}

static double count_scale_a(const int64_t *dim)
{
    return (double)(dim[GROUPED_K_K] / GROUPED_K_BLOCK) * (double)gemm_fp8_block_pitch_a(dim[GROUPED_K_M]);
}

static double count_scale_b(const int64_t *dim)
{
    return (double)(dim[GROUPED_K_K] / GROUPED_K_BLOCK) * (double)gemm_fp8_block_pitch_a(dim[GROUPED_K_N]);
}

static double count_ks(const int64_t *dim)
{
    return (double)dim[GROUPED_K_GROUPS];
}

static double count_d(const int64_t *dim)
{
    return (double)dim[GROUPED_K_GROUPS] * (double)dim[GROUPED_K_M] * (double)dim[GROUPED_K_N];
}

static int64_t output_columns(const int64_t *dim)
{
    return dim[GROUPED_K_N];
}

static const struct ridge_shape shapes[] = {
    {"experts-4", RIDGE_QUICK, RIDGE_CUDA, {4, 7168, 4096, 4 * 4096}},
    {"experts-4-narrow", RIDGE_FULL, RIDGE_CUDA, {4, 2048, 7168, 4 * 4096}},
    {"experts-8", RIDGE_FULL, RIDGE_CUDA, {8, 7168, 4096, 8 * 4096}},
    {"experts-4-deep", RIDGE_FULL, RIDGE_CUDA, {4, 7168, 4096, 4 * 8192}},
};

/* A block in all, fewer blocks than groups, rings that wrap, tiles cut on both sides, n not a multiple of 4. */
static const int64_t check_dims[][RIDGE_MAX_AXES] = {
    {1, 1, 1, 128},      {3, 5, 7, 128},      {2, 64, 128, 256},   {4, 129, 127, 384},
    {5, 100, 260, 1280}, {3, 300, 522, 1152}, {2, 132, 208, 2048}, {7, 33, 66, 896},
};

enum { CANCELLING = 1, OUTLIERS, ONE_GROUP, EMPTY_GROUPS, SLACK, INFINITE_NEIGHBOURS };
static const char *const cases[] = {"cancelling",          "outliers", "one_group", "empty_groups", "slack",
                                    "infinite_neighbours", NULL};

/* Operands of positive numbers, scales that are infinite. */
static void make_infinite(const int64_t *dim, int64_t first, int64_t length, void *const *buffer)
{
    const int64_t rows[2] = {dim[GROUPED_K_M], dim[GROUPED_K_N]}, pitch = gemm_fp8_block_pitch_a(rows[0]);
    for (int operand = GROUPED_K_A; operand <= GROUPED_K_B; operand++) {
        uint8_t *x = (uint8_t *)buffer[operand] + rows[operand] * first;
        for (int64_t i = 0; i < rows[operand] * length; i++)
            x[i] = x[i] & 0x7f ? x[i] & 0x7f : e4m3_from_f32(1);
    }
    float *scale = (float *)buffer[GROUPED_K_SCALE_A] + first / GROUPED_K_BLOCK * pitch;
    for (int64_t i = 0; i < length / GROUPED_K_BLOCK * pitch; i++)
        scale[i] = INFINITY;
}

/* What lies behind the last group. */
static void make_nan(const int64_t *dim, int64_t first, void *const *buffer)
{
    const int64_t rows[2] = {dim[GROUPED_K_M], dim[GROUPED_K_N]}, k = dim[GROUPED_K_K];
    for (int operand = GROUPED_K_A; operand <= GROUPED_K_B; operand++) {
        const int64_t pitch = gemm_fp8_block_pitch_a(rows[operand]);
        memset((uint8_t *)buffer[operand] + rows[operand] * first, 0x7f, (size_t)(rows[operand] * (k - first)));
        for (int64_t i = first / GROUPED_K_BLOCK * pitch; i < k / GROUPED_K_BLOCK * pitch; i++)
            ((float *)buffer[GROUPED_K_SCALE_A + operand])[i] = NAN;
    }
}

static void fill(const int64_t *dim, int hard, uint64_t seed, void *const *buffer)
{
    const int64_t groups = dim[GROUPED_K_GROUPS], k = dim[GROUPED_K_K], blocks = k / GROUPED_K_BLOCK;
    const int64_t used = hard == SLACK ? blocks - (blocks + 3) / 4 : blocks;
    int32_t *ks = buffer[GROUPED_K_KS];
    grouped_k_split(ks, groups, used,
                    hard == ONE_GROUP      ? GROUPED_K_ONE_GROUP
                    : hard == EMPTY_GROUPS ? GROUPED_K_EMPTY_GROUPS
                                           : GROUPED_K_UNEVEN,
                    seed);
    gemm_1d1d_fill_scales(buffer[GROUPED_K_SCALE_A], dim[GROUPED_K_M], blocks, seed);
    gemm_1d1d_fill_scales(buffer[GROUPED_K_SCALE_B], dim[GROUPED_K_N], blocks, seed + 1);
    if (hard == CANCELLING || hard == OUTLIERS)
        gemm_fp8_harden(dim + GROUPED_K_M, hard, seed, buffer);
    if (hard == SLACK)
        make_nan(dim, used * GROUPED_K_BLOCK, buffer);
    for (int64_t g = 0, first = 0; g < groups && hard == INFINITE_NEIGHBOURS; first += ks[g++])
        if (g % 2)
            make_infinite(dim, first, ks[g], buffer);
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    const int64_t m = dim[GROUPED_K_M], n = dim[GROUPED_K_N], groups = dim[GROUPED_K_GROUPS];
    const int32_t *ks = buffer[GROUPED_K_KS];
    for (int64_t g = 0, first = 0; g < groups; first += ks[g++]) {
        const int64_t part[RIDGE_MAX_AXES] = {m, n, ks[g]}, block = first / GROUPED_K_BLOCK;
        void *const of_part[RIDGE_MAX_BUFFERS] = {
            (uint8_t *)buffer[GROUPED_K_A] + m * first,
            (uint8_t *)buffer[GROUPED_K_B] + n * first,
            (float *)buffer[GROUPED_K_SCALE_A] + block * gemm_fp8_block_pitch_a(m),
            (float *)buffer[GROUPED_K_SCALE_B] + block * gemm_fp8_block_pitch_a(n),
        };
        gemm_reference(part, gemm_1d1d_element, of_part, ref[0] + g * m * n, mag[0] + g * m * n);
    }
    gemm_1d1d_accumulate(buffer[GROUPED_K_D], groups * m * n, ref[0]);
}

/* As gemm_fp8_block_1d1d; the sum of the groups' k is k. */
static void work(const int64_t *dim, struct ridge_work *work)
{
    const double product = (double)dim[GROUPED_K_M] * (double)dim[GROUPED_K_N];
    work->flop_fp8 = 2 * product * (double)dim[GROUPED_K_K];
    work->flop_fp32 = 4 * product * (double)(dim[GROUPED_K_K] / GROUPED_K_BLOCK);
    work->bytes_hbm_read =
        count_a(dim) + count_b(dim) + 4 * (count_scale_a(dim) + count_scale_b(dim) + count_ks(dim) + count_d(dim));
    work->bytes_hbm_write = 4 * count_d(dim);
}

const struct ridge_family ridge_family_gemm_grouped_k = {
    .problem =
        "D[g] [m,n] += A[g] [m,k_g] B[g] [n,k_g]^T, groups one behind the other, e4m3 in, FP32 in and out, FP32 "
        "scales per row and 128 of k (scale_a [k/128][m rounded up to 4], scale_b alike); k_g from ks, multiples of "
        "128 whose sum is at most k",
    .axes = 4,
    .axis = {{"groups", 1, GROUPED_K_MAX_GROUPS, 1, "matrices of D"},
             {"m", 1, 1 << 20, 1, "rows of A and D"},
             {"n", 1, 1 << 20, 1, "rows of B, columns of D"},
             {"k", GROUPED_K_BLOCK, 1 << 20, GROUPED_K_BLOCK, "length of the sums of all groups together"}},
    .buffers = 6,
    .buffer =
        {
            {"a", RIDGE_E4M3, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, count_a},
            {"b", RIDGE_E4M3, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, count_b},
            {"scale_a", RIDGE_F32, RIDGE_INPUT, RIDGE_FILL_CUSTOM, 0, count_scale_a},
            {"scale_b", RIDGE_F32, RIDGE_INPUT, RIDGE_FILL_CUSTOM, 0, count_scale_b},
            {"ks", RIDGE_I32, RIDGE_INPUT, RIDGE_FILL_CUSTOM, 0, count_ks},
            {"d", RIDGE_F32, RIDGE_INOUT, RIDGE_FILL_NORMAL, 8, count_d},
        },
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .cases = cases,
    .tolerance = GEMM_1D1D_TOLERANCE,
    .fill = fill,
    .reference = reference,
    .work = work,
    .output_columns = output_columns,
};

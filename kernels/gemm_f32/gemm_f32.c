/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/support/gemm_problem.h"

static const struct ridge_shape shapes[] = {
    {"cube-1024", RIDGE_QUICK, RIDGE_CUDA, {1024, 1024, 1024}},
    {"cube-4096", RIDGE_STANDARD, RIDGE_CUDA, {4096, 4096, 4096}},
    {"cube-2048", RIDGE_FULL, RIDGE_CUDA, {2048, 2048, 2048}},
    {"cube-8192", RIDGE_FULL, RIDGE_CUDA, {8192, 8192, 8192}},
    {"wide", RIDGE_FULL, RIDGE_CUDA, {1024, 16384, 1024}},
    {"tall", RIDGE_FULL, RIDGE_CUDA, {16384, 1024, 1024}},
    {"deep", RIDGE_FULL, RIDGE_CUDA, {1024, 1024, 16384}},
    {"cube-256", RIDGE_QUICK, RIDGE_HOST, {256, 256, 256}},
    {"cube-512", RIDGE_STANDARD, RIDGE_HOST, {512, 512, 512}},
    {"cube-1024", RIDGE_STANDARD, RIDGE_HOST, {1024, 1024, 1024}},
    {"cube-2048", RIDGE_FULL, RIDGE_HOST, {2048, 2048, 2048}},
};

static const int64_t check_dims[][RIDGE_MAX_AXES] = {
    {1, 1, 1},    {3, 5, 7},    {65, 33, 17},    {128, 128, 128}, {129, 127, 130},
    {1, 300, 64}, {257, 1, 31}, {100, 260, 384}, {64, 64, 512},   {256, 256, 33},
};

static void fill(const int64_t *dim, int hard, uint64_t seed, void *const *buffer)
{
    gemm_harden(&(struct gemm_hard){RIDGE_F32, 0x1p-10f, 1000}, dim, hard, seed, buffer);
}

static double element(const int64_t *dim, void *const *buffer, int operand, int64_t row, int64_t i)
{
    return ((const float *)buffer[operand])[row * dim[GEMM_K] + i];
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    gemm_reference(dim, element, buffer, ref[0], mag[0]);
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    work->flop_fp32 = gemm_flop(dim);
    work->bytes_hbm_read = 4 * (gemm_count_a(dim) + gemm_count_b(dim));
    work->bytes_hbm_write = 4 * gemm_count_d(dim);
}

const struct ridge_family ridge_family_gemm_f32 = {
    .problem = "D[m,n] = A[m,k] B[n,k]^T, FP32, row-major (both operands contiguous along k)",
    .axes = 3,
    .axis = {GEMM_AXES},
    .buffers = 3,
    .buffer =
        {
            {"a", RIDGE_F32, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, gemm_count_a},
            {"b", RIDGE_F32, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, gemm_count_b},
            {"d", RIDGE_F32, RIDGE_OUTPUT, RIDGE_FILL_NORMAL, 0, gemm_count_d},
        },
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .cases = gemm_cases,
    .tolerance = {.rel = 0,
                  .mag_rel = 0x1p-17,
                  .source =
                      "2^-17 = 128 u of the sum of absolute products, u = 2^-24. Worst case of FP32 accumulation in "
                      "any order: k u (Higham 2002, section 3.1), reached at k = 128; with independent roundings "
                      "lambda sqrt(k) u (Higham and Mary, SIAM J. Sci. Comput. 41, 2019): lambda = 2 at k = 4096"},
    .fill = fill,
    .reference = reference,
    .work = work,
    .output_columns = gemm_output_columns,
};

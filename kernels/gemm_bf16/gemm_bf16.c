/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/support/gemm_problem.h"
#include "kernels/support/numeric.h"

static const struct ridge_shape shapes[] = {
    {"cube-1024", RIDGE_QUICK, RIDGE_CUDA, {1024, 1024, 1024}},
    {"prefill", RIDGE_STANDARD, RIDGE_CUDA, {4096, 4096, 7168}},
    GEMM_LAYERS,
    {"cube-256", RIDGE_QUICK, RIDGE_HOST, {256, 256, 256}},
    {"decode", RIDGE_STANDARD, RIDGE_HOST, {16, 1024, 1024}},
    {"cube-512", RIDGE_FULL, RIDGE_HOST, {512, 512, 512}},
};

/* k a multiple of 8 where tensor copies are to run; rings that wrap; tiles cut on both sides; n that is odd, even, and
 * a multiple of 8; several tiles an SM; rows of A that do not fill a tile, whose others stay in shared memory from
 * before, in rings that wrap. */
static const int64_t check_dims[][RIDGE_MAX_AXES] = {
    {1, 1, 1},      {3, 5, 7},        {65, 33, 17},    {128, 128, 128},  {129, 127, 130},  {1, 300, 64},
    {257, 1, 31},   {100, 260, 384},  {64, 64, 512},   {256, 256, 33},   {1, 8, 8},        {129, 127, 136},
    {300, 522, 72}, {520, 1000, 320}, {130, 264, 648}, {8, 35872, 72},   {24, 35872, 328}, {261, 288, 200},
    {7, 300, 1608}, {16, 144, 2048},  {65, 272, 1672}, {200, 144, 1736},
};

static void fill(const int64_t *dim, int hard, uint64_t seed, void *const *buffer)
{
    gemm_harden(&(struct gemm_hard){RIDGE_BF16, 0x1p-7f, 1024}, dim, hard, seed, buffer);
}

static double element(const int64_t *dim, void *const *buffer, int operand, int64_t row, int64_t i)
{
    return bf16_to_f32(((const uint16_t *)buffer[operand])[row * dim[GEMM_K] + i]);
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    gemm_reference(dim, element, buffer, ref[0], mag[0]);
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    work->flop_bf16 = gemm_flop(dim);
    work->bytes_hbm_read = 2 * (gemm_count_a(dim) + gemm_count_b(dim));
    work->bytes_hbm_write = 2 * gemm_count_d(dim);
}

const struct ridge_family ridge_family_gemm_bf16 = {
    .problem =
        "D[m,n] = A[m,k] B[n,k]^T, BF16 in and out, FP32 accumulation, row-major (both operands contiguous along k)",
    .axes = 3,
    .axis = {GEMM_AXES},
    .buffers = 3,
    .buffer =
        {
            {"a", RIDGE_BF16, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, gemm_count_a},
            {"b", RIDGE_BF16, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, gemm_count_b},
            {"d", RIDGE_BF16, RIDGE_OUTPUT, RIDGE_FILL_NORMAL, 0, gemm_count_d},
        },
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .cases = gemm_cases,
    .tolerance = {.rel = 0x1p-8,
                  .mag_rel = 0x1p-16,
                  .source = "rel: BF16 has 8 significant bits, so rounding the result is at most 2^-8 of it. mag_rel: "
                            "products are exact in FP32; 2^-16 = 128 u of the sum of absolute products with u = 2^-23, "
                            "since tensor cores truncate when they accumulate: lambda sqrt(k) u (Higham and Mary, SIAM "
                            "J. Sci. Comput. 41, 2019) with lambda = 1.5 at k = 7168"},
    .fill = fill,
    .reference = reference,
    .work = work,
    .output_columns = gemm_output_columns,
};

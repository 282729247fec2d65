/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernel.h"
#include "kernels/support/fill.h"

#include <math.h>
#include <string.h>

enum { M, N, K };
enum { CANCELLING = 1, OUTLIERS };

static double count_a(const int64_t *dim)
{
    return (double)dim[M] * (double)dim[K];
}

static double count_b(const int64_t *dim)
{
    return (double)dim[N] * (double)dim[K];
}

static double count_d(const int64_t *dim)
{
    return (double)dim[M] * (double)dim[N];
}

static const struct ridge_shape shapes[] = {
    {"cube-1024", RIDGE_QUICK, RIDGE_CUDA, {1024, 1024, 1024}},
    {"prefill", RIDGE_STANDARD, RIDGE_CUDA, {4096, 4096, 7168}},
    {"decode", RIDGE_STANDARD, RIDGE_CUDA, {64, 7168, 2048}},
    {"prefill-shallow", RIDGE_FULL, RIDGE_CUDA, {4096, 24576, 1536}},
    {"prefill-2112x7168", RIDGE_FULL, RIDGE_CUDA, {4096, 2112, 7168}},
    {"prefill-576x7168", RIDGE_FULL, RIDGE_CUDA, {4096, 576, 7168}},
    {"prefill-32768x512", RIDGE_FULL, RIDGE_CUDA, {4096, 32768, 512}},
    {"prefill-7168x16384", RIDGE_FULL, RIDGE_CUDA, {4096, 7168, 16384}},
    {"prefill-7168x2048", RIDGE_FULL, RIDGE_CUDA, {4096, 7168, 2048}},
    {"cube-8192", RIDGE_FULL, RIDGE_CUDA, {8192, 8192, 8192}},
    {"decode-2112x7168", RIDGE_FULL, RIDGE_CUDA, {64, 2112, 7168}},
    {"decode-576x7168", RIDGE_FULL, RIDGE_CUDA, {64, 576, 7168}},
    {"decode-24576x1536", RIDGE_FULL, RIDGE_CUDA, {64, 24576, 1536}},
    {"decode-32768x512", RIDGE_FULL, RIDGE_CUDA, {64, 32768, 512}},
    {"decode-7168x16384", RIDGE_FULL, RIDGE_CUDA, {64, 7168, 16384}},
    {"decode-4096x7168", RIDGE_FULL, RIDGE_CUDA, {64, 4096, 7168}},
    {"decode128-2112x7168", RIDGE_FULL, RIDGE_CUDA, {128, 2112, 7168}},
    {"decode128-576x7168", RIDGE_FULL, RIDGE_CUDA, {128, 576, 7168}},
    {"decode128-24576x1536", RIDGE_FULL, RIDGE_CUDA, {128, 24576, 1536}},
    {"decode128-32768x512", RIDGE_FULL, RIDGE_CUDA, {128, 32768, 512}},
    {"decode128-7168x16384", RIDGE_FULL, RIDGE_CUDA, {128, 7168, 16384}},
    {"decode128-4096x7168", RIDGE_FULL, RIDGE_CUDA, {128, 4096, 7168}},
    {"decode128-7168x2048", RIDGE_FULL, RIDGE_CUDA, {128, 7168, 2048}},
    {"cube-256", RIDGE_QUICK, RIDGE_HOST, {256, 256, 256}},
    {"decode", RIDGE_STANDARD, RIDGE_HOST, {16, 1024, 1024}},
    {"cube-512", RIDGE_FULL, RIDGE_HOST, {512, 512, 512}},
};

/* k a multiple of 8 where tensor copies are to run; rings that wrap; tiles cut on both sides; n that is odd, even, and a
 * multiple of 8; several tiles an SM. */
static const int64_t check_dims[][RIDGE_MAX_AXES] = {
    {1, 1, 1},      {3, 5, 7},        {65, 33, 17},     {128, 128, 128},  {129, 127, 130},
    {1, 300, 64},   {257, 1, 31},     {100, 260, 384},  {64, 64, 512},    {256, 256, 33},
    {1, 8, 8},      {129, 127, 136},  {300, 522, 72},   {520, 1000, 320}, {130, 264, 648},
    {8, 35872, 72}, {24, 35872, 328}, {261, 288, 200},
};

static const char *const cases[] = {"cancelling", "outliers", NULL};

/* cancelling: products 2i and 2i + 1 of every sum cancel but for about 2^-7, so that the result is small beside the sum
 * of absolute products. outliers: about one element in 64 is 1024 times as large. */
static void fill(const int64_t *dim, int hard, uint64_t seed, void *const *buffer)
{
    const int64_t rows[2] = {dim[M], dim[N]}, k = dim[K];
    for (int operand = 0; operand < 2; operand++) {
        uint16_t *x = buffer[operand];
        if (hard == CANCELLING) {
            const float factor = operand == 0 ? 1 : -(1 + 0x1p-7f);
            for (int64_t r = 0; r < rows[operand]; r++)
                for (int64_t i = 1; i < k; i += 2)
                    x[r * k + i] = bf16_from_f32(bf16_to_f32(x[r * k + i - 1]) * factor);
        } else if (hard == OUTLIERS) {
            for (int64_t i = 0; i < rows[operand] * k; i++)
                if (fill_hash(seed + (uint64_t)operand, (uint64_t)i) % 64 == 0)
                    x[i] = bf16_from_f32(bf16_to_f32(x[i]) * 1024);
        }
    }
}

enum { TILE = 64 };

/* Columns [n0, n0 + TILE) of D; B goes through a transposed tile, so that the inner loop runs over columns. */
static void reference_columns(const int64_t *dim, const uint16_t *a, const uint16_t *b, int64_t n0, double *ref,
                              double *mag)
{
    const int64_t m = dim[M], n = dim[N], k = dim[K], columns = n - n0 < TILE ? n - n0 : TILE;
    double tile[TILE][TILE];
    for (int64_t k0 = 0; k0 < k; k0 += TILE) {
        const int64_t depth = k - k0 < TILE ? k - k0 : TILE;
        for (int64_t j = 0; j < columns; j++)
            for (int64_t i = 0; i < depth; i++)
                tile[i][j] = bf16_to_f32(b[(n0 + j) * k + k0 + i]);
        for (int64_t row = 0; row < m; row++) {
            double *r = ref + row * n + n0, *g = mag + row * n + n0;
            for (int64_t i = 0; i < depth; i++) {
                const double x = bf16_to_f32(a[row * k + k0 + i]);
                for (int64_t j = 0; j < columns; j++) {
                    r[j] += x * tile[i][j];
                    g[j] += fabs(x * tile[i][j]);
                }
            }
        }
    }
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    memset(ref[0], 0, (size_t)(dim[M] * dim[N]) * sizeof(double));
    memset(mag[0], 0, (size_t)(dim[M] * dim[N]) * sizeof(double));
#pragma omp parallel for schedule(dynamic)
    for (int64_t n0 = 0; n0 < dim[N]; n0 += TILE)
        reference_columns(dim, buffer[0], buffer[1], n0, ref[0], mag[0]);
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    work->flop_bf16 = 2.0 * (double)dim[M] * (double)dim[N] * (double)dim[K];
    work->bytes_hbm_read = 2 * (count_a(dim) + count_b(dim));
    work->bytes_hbm_write = 2 * count_d(dim);
}

static int64_t output_columns(const int64_t *dim)
{
    return dim[N];
}

const struct ridge_family ridge_family_gemm_bf16 = {
    .problem =
        "D[m,n] = A[m,k] B[n,k]^T, BF16 in and out, FP32 accumulation, row-major (both operands contiguous along k)",
    .axes = 3,
    .axis =
        {
            {"m", 1, 1 << 20, 1, "rows of A and D"},
            {"n", 1, 1 << 20, 1, "rows of B, columns of D"},
            {"k", 1, 1 << 20, 1, "length of the sums"},
        },
    .buffers = 3,
    .buffer =
        {
            {"a", RIDGE_BF16, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, count_a},
            {"b", RIDGE_BF16, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, count_b},
            {"d", RIDGE_BF16, RIDGE_OUTPUT, RIDGE_FILL_NORMAL, 0, count_d},
        },
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .cases = cases,
    .tolerance = {.rel = 0x1p-8,
                  .mag_rel = 0x1p-16,
                  .source = "rel: BF16 has 8 significant bits, so rounding the result is at most 2^-8 of it. mag_rel: "
                            "products are exact in FP32; 2^-16 = 128 u of the sum of absolute products with u = 2^-23, "
                            "since tensor cores truncate when they accumulate: lambda sqrt(k) u (Higham and Mary, SIAM "
                            "J. Sci. Comput. 41, 2019) with lambda = 1.5 at k = 7168"},
    .fill = fill,
    .reference = reference,
    .work = work,
    .output_columns = output_columns,
};

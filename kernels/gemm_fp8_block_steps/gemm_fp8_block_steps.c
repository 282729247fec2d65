/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_fp8_block on inputs that show what the tensor core's accumulator loses, with scales that allow sums over more
 * than one block of k. */
#include "kernels/gemm_fp8_block/gemm_fp8_block.h"
#include "kernels/gemm_fp8_tensor/gemm_fp8.h"

extern const struct ridge_family ridge_family_gemm_fp8_block;

static double count_scale_a(const int64_t *dim)
{
    return ridge_family_gemm_fp8_block.buffer[GEMM_FP8_SCALE_A].count(dim);
}

static double count_scale_b(const int64_t *dim)
{
    return ridge_family_gemm_fp8_block.buffer[GEMM_FP8_SCALE_B].count(dim);
}

static const struct ridge_shape shapes[] = {
    {"prefill", RIDGE_FULL, RIDGE_CUDA, {4096, 4096, 7168}},
    GEMM_LAYER("prefill", 4096, 7168, 2048),
    GEMM_LAYER("prefill", 4096, 7168, 16384),
};
static const int64_t check_dims[][RIDGE_MAX_AXES] = {GEMM_FP8_CHECK_DIMS};

/* Normal about `mean`, standard deviation a quarter. */
static void fill_rows(uint8_t *x, uint64_t seed, int64_t rows, int64_t k, float mean, float mean_of_second_half)
{
#pragma omp parallel for
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = 0; i < k; i++)
            x[row * k + i] = e4m3_from_f32(fill_normal(seed, (uint64_t)(row * k + i), 0.25f) +
                                           (i < k / 2 ? mean : mean_of_second_half));
}

/* The running sums rise over the first half of k and fall back over the second, so that the result is small beside
 * them and its rounding to BF16 hides nothing. A scale is the same for all blocks of k. */
static void fill(const int64_t *dim, int hard, uint64_t seed, void *const *buffer)
{
    const int64_t m = dim[GEMM_M], n = dim[GEMM_N], k = dim[GEMM_K], pitch = gemm_fp8_block_pitch_a(m);
    const int64_t blocks = gemm_fp8_block_count(k), blocks_n = gemm_fp8_block_count(n);
    float *scale_a = buffer[GEMM_FP8_SCALE_A], *scale_b = buffer[GEMM_FP8_SCALE_B];
    fill_rows(buffer[GEMM_A], seed + 2, m, k, 1, 1);
    fill_rows(buffer[GEMM_B], seed + 3, n, k, 1, -1);
    for (int64_t block = 0; block < blocks; block++) {
        for (int64_t i = 0; i < pitch; i++)
            scale_a[block * pitch + i] = i < m ? gemm_fp8_scale(seed, i) : NAN;
        for (int64_t i = 0; i < blocks_n; i++)
            scale_b[i * blocks + block] = gemm_fp8_scale(seed + 1, i);
    }
    gemm_fp8_harden(dim, hard, seed, buffer);
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    ridge_family_gemm_fp8_block.reference(dim, buffer, ref, mag);
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    ridge_family_gemm_fp8_block.work(dim, work);
}

const struct ridge_family ridge_family_gemm_fp8_block_steps = {
    .problem = "gemm_fp8_block with scales that do not change along k; running sums of D rise over the first half of "
               "k and fall over the second",
    .axes = 3,
    .axis = {GEMM_AXES},
    .buffers = 5,
    .buffer = {{"a", RIDGE_E4M3, RIDGE_INPUT, RIDGE_FILL_CUSTOM, 0, gemm_count_a},
               {"b", RIDGE_E4M3, RIDGE_INPUT, RIDGE_FILL_CUSTOM, 0, gemm_count_b},
               {"scale_a", RIDGE_F32, RIDGE_INPUT, RIDGE_FILL_CUSTOM, 0, count_scale_a},
               {"scale_b", RIDGE_F32, RIDGE_INPUT, RIDGE_FILL_CUSTOM, 0, count_scale_b},
               {"d", RIDGE_BF16, RIDGE_OUTPUT, RIDGE_FILL_NORMAL, 0, gemm_count_d}},
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .cases = gemm_cases,
    .tolerance = {.rel = 0x1p-8,
                  .mag_rel = 0x1p-6,
                  .source = "rel: BF16 has 8 significant bits, so rounding the result is at most 2^-8 of it. mag_rel: "
                            "holds for sums that are never promoted. Their accumulator is cut off at 2^-13 of its "
                            "largest bit in every step of 32 along k (gemm_fp8_tensor). Simulated: 2^-7.7 of the sum "
                            "of absolute products at k = 16384, 2^-6.8 with outliers at k = 2048; promoted every 128, "
                            "2^-15.0 and 2^-9.8"},
    .fill = fill,
    .reference = reference,
    .work = work,
    .output_columns = gemm_output_columns,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_fp8_block/gemm_fp8_block.h"
#include "kernels/gemm_fp8_tensor/gemm_fp8.h"

static double count_scale_a(const int64_t *dim)
{
    return (double)gemm_fp8_block_count(dim[GEMM_K]) * (double)gemm_fp8_block_pitch_a(dim[GEMM_M]);
}

static double count_scale_b(const int64_t *dim)
{
    return (double)gemm_fp8_block_count(dim[GEMM_K]) * (double)gemm_fp8_block_count(dim[GEMM_N]);
}

/* The last two are what gemm_grouped_contiguous is held against: as many rows as its groups have together. */
static const struct ridge_shape shapes[] = {GEMM_FP8_SHAPES, GEMM_LAYER("prefill32768", 32768, 4096, 7168),
                                            GEMM_LAYER("prefill32768", 32768, 7168, 2048)};
/* Beside the family's: 17 and 35 blocks of k, since kernels read scales of B 16 or 32 blocks at a time; rows of A that
 * do not fill a tile, whose others stay in shared memory from before, in rings that wrap. */
static const int64_t check_dims[][RIDGE_MAX_AXES] = {GEMM_FP8_CHECK_DIMS, {20, 150, 2176}, {40, 304, 4368},
                                                     {7, 300, 2064},      {65, 272, 2304}, {200, 144, 2032},
                                                     {150, 264, 1168},    {250, 131, 4368}};

/* The padding of scale_a is NaN: it must not reach a result. */
static void fill(const int64_t *dim, int hard, uint64_t seed, void *const *buffer)
{
    const int64_t m = dim[GEMM_M], pitch = gemm_fp8_block_pitch_a(m);
    const int64_t count_a = (int64_t)count_scale_a(dim), count_b = (int64_t)count_scale_b(dim);
    float *scale_a = buffer[GEMM_FP8_SCALE_A], *scale_b = buffer[GEMM_FP8_SCALE_B];
    for (int64_t i = 0; i < count_a; i++)
        scale_a[i] = i % pitch < m ? gemm_fp8_scale(seed, i) : NAN;
    for (int64_t i = 0; i < count_b; i++)
        scale_b[i] = gemm_fp8_scale(seed + 1, i);
    gemm_fp8_harden(dim, hard, seed, buffer);
}

static double element(const int64_t *dim, void *const *buffer, int operand, int64_t row, int64_t i)
{
    const int64_t k = dim[GEMM_K], block = i / 128;
    const float scale =
        operand == GEMM_A ? ((const float *)buffer[GEMM_FP8_SCALE_A])[block * gemm_fp8_block_pitch_a(dim[GEMM_M]) + row]
                          : ((const float *)buffer[GEMM_FP8_SCALE_B])[row / 128 * gemm_fp8_block_count(k) + block];
    return (double)e4m3_to_f32(((const uint8_t *)buffer[operand])[row * k + i]) * scale;
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    gemm_reference(dim, element, buffer, ref[0], mag[0]);
}

/* Promotion multiplies by the product of the scales and adds, for every element and block of k. */
static void work(const int64_t *dim, struct ridge_work *work)
{
    work->flop_fp8 = gemm_flop(dim);
    work->flop_fp32 = 2.0 * gemm_count_d(dim) * (double)gemm_fp8_block_count(dim[GEMM_K]);
    work->bytes_hbm_read = gemm_count_a(dim) + gemm_count_b(dim) + 4 * (count_scale_a(dim) + count_scale_b(dim));
    work->bytes_hbm_write = 2 * gemm_count_d(dim);
}

const struct ridge_family ridge_family_gemm_fp8_block = {
    .problem = "D[m,n] = A[m,k] B[n,k]^T, e4m3 in, BF16 out, row-major; FP32 scales: A per row and 128 of k "
               "(scale_a [ceil(k/128)][m rounded up to 4]), B per 128 x 128 (scale_b [ceil(n/128)][ceil(k/128)])",
    .axes = 3,
    .axis = {GEMM_AXES},
    .buffers = 5,
    .buffer = {GEMM_FP8_BUFFERS(count_scale_a, count_scale_b)},
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .cases = gemm_cases,
    .tolerance = {.rel = 0x1p-8,
                  .mag_rel = 0x1p-9,
                  .source =
                      "rel: rounding to BF16 is at most 2^-9 of the result, and as much again is for sums that one "
                      "product carries. mag_rel: a WGMMA aligns its 32 products and the accumulator to the largest of "
                      "them and keeps 13 bits below its leading one (about 14 bits: DeepSeek-V3, arXiv 2412.19437, "
                      "3.3.2), and four of them follow each other before promotion. Simulated, of 4 million elements, "
                      "beyond rel: 2^-12.5 of the sum of absolute products on normal inputs, 2^-9.4 with outliers; at "
                      "k = 2048 2^-14.4 and 2^-10.2"},
    .fill = fill,
    .reference = reference,
    .work = work,
    .output_columns = gemm_output_columns,
};

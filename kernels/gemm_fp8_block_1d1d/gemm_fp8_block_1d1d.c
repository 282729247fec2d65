/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_fp8_block_1d1d/gemm_fp8_block_1d1d.h"
#include "kernels/gemm_fp8_tensor/gemm_fp8.h"

static double count_scale_a(const int64_t *dim)
{
    return (double)gemm_fp8_block_count(dim[GEMM_K]) * (double)gemm_fp8_block_pitch_a(dim[GEMM_M]);
}

static double count_scale_b(const int64_t *dim)
{
    return (double)gemm_fp8_block_count(dim[GEMM_K]) * (double)gemm_fp8_block_pitch_a(dim[GEMM_N]);
}

/* Weight gradients of the layers of DeepSeek-V3: m x n weights, k tokens. */
static const struct ridge_shape shapes[] = {
    {"cube-1024", RIDGE_FULL, RIDGE_CUDA, {1024, 1024, 1024}},
    {"wgrad", RIDGE_QUICK, RIDGE_CUDA, {7168, 4096, 4096}},
    {"wgrad-2112", RIDGE_FULL, RIDGE_CUDA, {7168, 2112, 4096}},
    {"wgrad-1536", RIDGE_FULL, RIDGE_CUDA, {1536, 24576, 4096}},
    {"wgrad-512", RIDGE_FULL, RIDGE_CUDA, {512, 32768, 4096}},
    {"wgrad-16384", RIDGE_FULL, RIDGE_CUDA, {16384, 7168, 4096}},
    {"wgrad-2048", RIDGE_FULL, RIDGE_CUDA, {2048, 7168, 4096}},
    {"wgrad-8192-tokens", RIDGE_FULL, RIDGE_CUDA, {7168, 4096, 8192}},
    {"deep", RIDGE_FULL, RIDGE_CUDA, {4096, 7168, 16384}},
    {"cube-8192", RIDGE_FULL, RIDGE_CUDA, {8192, 8192, 8192}},
};
static const int64_t check_dims[][RIDGE_MAX_AXES] = {GEMM_FP8_CHECK_DIMS, {400, 260, 1152}};

double gemm_1d1d_element(const int64_t *dim, void *const *buffer, int operand, int64_t row, int64_t i)
{
    const int64_t pitch = gemm_fp8_block_pitch_a(dim[operand == GEMM_A ? GEMM_M : GEMM_N]);
    const float *scale = buffer[operand == GEMM_A ? GEMM_FP8_SCALE_A : GEMM_FP8_SCALE_B];
    return (double)e4m3_to_f32(((const uint8_t *)buffer[operand])[row * dim[GEMM_K] + i]) *
           scale[i / 128 * pitch + row];
}

void gemm_1d1d_fill_scales(float *scale, int64_t rows, int64_t blocks, uint64_t seed)
{
    const int64_t pitch = gemm_fp8_block_pitch_a(rows);
    for (int64_t i = 0; i < blocks * pitch; i++)
        scale[i] = i % pitch < rows ? gemm_fp8_scale(seed, i) : NAN;
}

void gemm_1d1d_accumulate(const float *c, int64_t count, double *ref)
{
    for (int64_t i = 0; i < count; i++)
        ref[i] += c[i];
}

static void fill(const int64_t *dim, int hard, uint64_t seed, void *const *buffer)
{
    const int64_t blocks = gemm_fp8_block_count(dim[GEMM_K]);
    gemm_1d1d_fill_scales(buffer[GEMM_FP8_SCALE_A], dim[GEMM_M], blocks, seed);
    gemm_1d1d_fill_scales(buffer[GEMM_FP8_SCALE_B], dim[GEMM_N], blocks, seed + 1);
    gemm_fp8_harden(dim, hard, seed, buffer);
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    gemm_reference(dim, gemm_1d1d_element, buffer, ref[0], mag[0]);
    gemm_1d1d_accumulate(buffer[4], dim[GEMM_M] * dim[GEMM_N], ref[0]);
}

/* Promotion multiplies the two scales and adds the sum times their product, for every element and block of k; a
 * multiply counts as a multiply-add, whose place it takes. */
static void work(const int64_t *dim, struct ridge_work *work)
{
    work->flop_fp8 = gemm_flop(dim);
    work->flop_fp32 = 4.0 * gemm_count_d(dim) * (double)gemm_fp8_block_count(dim[GEMM_K]);
    work->bytes_hbm_read =
        gemm_count_a(dim) + gemm_count_b(dim) + 4 * (count_scale_a(dim) + count_scale_b(dim) + gemm_count_d(dim));
    work->bytes_hbm_write = 4 * gemm_count_d(dim);
}

const struct ridge_family ridge_family_gemm_fp8_block_1d1d = {
    .problem =
        "D[m,n] += A[m,k] B[n,k]^T, e4m3 in, FP32 in and out, row-major; FP32 scales of A and B per row and 128 of "
        "k (scale_a [ceil(k/128)][m rounded up to 4], scale_b [ceil(k/128)][n rounded up to 4])",
    .axes = 3,
    .axis = {GEMM_AXES},
    .buffers = 5,
    .buffer =
        {
            {"a", RIDGE_E4M3, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, gemm_count_a},
            {"b", RIDGE_E4M3, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, gemm_count_b},
            {"scale_a", RIDGE_F32, RIDGE_INPUT, RIDGE_FILL_CUSTOM, 0, count_scale_a},
            {"scale_b", RIDGE_F32, RIDGE_INPUT, RIDGE_FILL_CUSTOM, 0, count_scale_b},
            {"d", RIDGE_F32, RIDGE_INOUT, RIDGE_FILL_NORMAL, 8, gemm_count_d},
        },
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .cases = gemm_cases,
    .tolerance = GEMM_1D1D_TOLERANCE,
    .fill = fill,
    .reference = reference,
    .work = work,
    .output_columns = gemm_output_columns,
};

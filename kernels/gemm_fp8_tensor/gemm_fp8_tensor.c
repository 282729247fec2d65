/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_fp8_tensor/gemm_fp8.h"

static double one(const int64_t *dim)
{
    (void)dim;
    return 1;
}

static const struct ridge_shape shapes[] = {GEMM_FP8_SHAPES};
static const int64_t check_dims[][RIDGE_MAX_AXES] = {GEMM_FP8_CHECK_DIMS};

static void fill(const int64_t *dim, int hard, uint64_t seed, void *const *buffer)
{
    *(float *)buffer[GEMM_FP8_SCALE_A] = gemm_fp8_scale(seed, 0);
    *(float *)buffer[GEMM_FP8_SCALE_B] = gemm_fp8_scale(seed, 1);
    gemm_fp8_harden(dim, hard, seed, buffer);
}

static double element(const int64_t *dim, void *const *buffer, int operand, int64_t row, int64_t i)
{
    const float scale = *(const float *)buffer[operand == GEMM_A ? GEMM_FP8_SCALE_A : GEMM_FP8_SCALE_B];
    return (double)e4m3_to_f32(((const uint8_t *)buffer[operand])[row * dim[GEMM_K] + i]) * scale;
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    gemm_reference(dim, element, buffer, ref[0], mag[0]);
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    work->flop_fp8 = gemm_flop(dim);
    work->bytes_hbm_read = gemm_count_a(dim) + gemm_count_b(dim) + 8;
    work->bytes_hbm_write = 2 * gemm_count_d(dim);
}

const struct ridge_family ridge_family_gemm_fp8_tensor = {
    .problem = "D[m,n] = scale_a scale_b A[m,k] B[n,k]^T, e4m3 in, BF16 out, one FP32 scale a tensor, FP32 "
               "accumulation, row-major (both operands contiguous along k)",
    .axes = 3,
    .axis = {GEMM_AXES},
    .buffers = 5,
    .buffer = {GEMM_FP8_BUFFERS(one, one)},
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .cases = gemm_cases,
    .tolerance =
        {.rel = 0x1p-8,
         .mag_rel = 0x1p-8,
         .source = "rel: rounding to BF16 is at most 2^-9 of the result, and as much again is for sums that one "
                   "product carries. mag_rel: a WGMMA cuts its 32 products and the accumulator off at 2^-13 of the "
                   "largest of them (about 14 bits: DeepSeek-V3, arXiv 2412.19437, 3.3.2), with a standard "
                   "deviation of at most 3.3 cuts a step of 32 along k. Simulated, of 4 million elements, beyond "
                   "rel: 2^-11.5 of the sum of absolute products on normal inputs, 2^-8.5 with outliers, by "
                   "cuBLASLt with fast accumulation as much: it is the tensor core's accumulator, and what promotion "
                   "(gemm_fp8_block) is for"},
    .fill = fill,
    .reference = reference,
    .work = work,
    .output_columns = gemm_output_columns,
};

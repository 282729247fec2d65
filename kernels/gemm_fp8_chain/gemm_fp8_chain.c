/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_fp8_chain/gemm_fp8_chain.h"
#include "kernels/gemm_fp8_block/gemm_fp8_block.h"
#include "kernels/gemm_fp8_tensor/gemm_fp8.h"

extern const struct ridge_family ridge_family_gemm_fp8_block;

enum { SCALE_B2 = 6 };

static double count_scale_a(const int64_t *dim)
{
    return ridge_family_gemm_fp8_block.buffer[GEMM_FP8_SCALE_A].count(dim);
}

static double count_scale_b(const int64_t *dim)
{
    return ridge_family_gemm_fp8_block.buffer[GEMM_FP8_SCALE_B].count(dim);
}

static const struct ridge_shape shapes[] = {
    {"decode", RIDGE_FULL, RIDGE_CUDA, {64, 7168, 2048}},
    GEMM_LAYER("decode", 64, 2112, 7168),
    GEMM_LAYER("decode", 64, 4096, 7168),
    GEMM_LAYER("decode128", 128, 7168, 2048),
    GEMM_LAYER("decode128", 128, 2112, 7168),
    GEMM_LAYER("prefill", 4096, 7168, 2048),
};
static const int64_t check_dims[][RIDGE_MAX_AXES] = {GEMM_FP8_CHECK_DIMS};

/* The padding of scale_a is NaN: it must not reach a result. */
static void fill(const int64_t *dim, int hard, uint64_t seed, void *const *buffer)
{
    (void)hard;
    const int64_t m = dim[GEMM_M], pitch = gemm_fp8_block_pitch_a(m);
    const int64_t count_a = (int64_t)count_scale_a(dim), count_b = (int64_t)count_scale_b(dim);
    float *scale_a = buffer[GEMM_FP8_SCALE_A], *scale_b1 = buffer[GEMM_FP8_SCALE_B], *scale_b2 = buffer[SCALE_B2];
    for (int64_t i = 0; i < count_a; i++)
        scale_a[i] = i % pitch < m ? gemm_fp8_scale(seed, i) : NAN;
    for (int64_t i = 0; i < count_b; i++) {
        scale_b1[i] = gemm_fp8_scale(seed + 1, i);
        scale_b2[i] = gemm_fp8_scale(seed + 2, i);
    }
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    for (int link = 0; link < GEMM_CHAIN_LINKS; link++) {
        void *of_link[GEMM_CHAIN_LINK_BUFFERS];
        gemm_fp8_chain_buffers(buffer, link, of_link);
        ridge_family_gemm_fp8_block.reference(dim, of_link, ref + link, mag + link);
    }
}

/* A is read once, the rest of the second product is the second's own. */
static void work(const int64_t *dim, struct ridge_work *work)
{
    ridge_family_gemm_fp8_block.work(dim, work);
    work->flop_fp8 *= GEMM_CHAIN_LINKS;
    work->flop_fp32 *= GEMM_CHAIN_LINKS;
    work->bytes_hbm_read += gemm_count_b(dim) + 4 * count_scale_b(dim);
    work->bytes_hbm_write *= GEMM_CHAIN_LINKS;
    work->launches = GEMM_CHAIN_LINKS;
}

const struct ridge_family ridge_family_gemm_fp8_chain = {
    .problem = "D1 = A B1^T, then D2 = A B2^T in a kernel of its own, each as in gemm_fp8_block: two products of a "
               "layer one after the other on one stream",
    .axes = 3,
    .axis = {GEMM_AXES},
    .buffers = 8,
    .buffer = {GEMM_FP8_BUFFERS(count_scale_a, count_scale_b),
               {"b2", RIDGE_E4M3, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, gemm_count_b},
               {"scale_b2", RIDGE_F32, RIDGE_INPUT, RIDGE_FILL_CUSTOM, 0, count_scale_b},
               {"d2", RIDGE_BF16, RIDGE_OUTPUT, RIDGE_FILL_NORMAL, 0, gemm_count_d}},
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .tolerance = {.rel = 0x1p-8, .mag_rel = 0x1p-9, .source = "as gemm_fp8_block, for each product"},
    .fill = fill,
    .reference = reference,
    .work = work,
    .output_columns = gemm_output_columns,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_wgmma_bf16/wgmma_ceiling.h"
#include "kernels/support/numeric.h"

enum { K = WGMMA_K_BYTES };

static double a_count(const int64_t *dim)
{
    (void)dim;
    return WGMMA_A_TILES * WGMMA_ROWS * K;
}

static double b_count(const int64_t *dim)
{
    return (double)dim[0] * K;
}

static double value(const void *buffer, int64_t i)
{
    return e4m3_to_f32(((const uint8_t *)buffer)[i]);
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    wgmma_reference(dim, K, value, buffer, ref, mag);
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    work->flop_fp8 = wgmma_flop(dim, K);
    work->bytes_smem = wgmma_bytes_b(dim);
}

static const struct ridge_shape shapes[] = WGMMA_SHAPES;
static const int64_t check_dims[][RIDGE_MAX_AXES] = WGMMA_CHECK_DIMS;

const struct ridge_family ridge_family_ceiling_wgmma_fp8 = {
    .problem =
        "iters products D[64,n] = A B^T over k = 512 from on-chip operands: a [2*64,512] e4m3, b [n,512] e4m3; product "
        "t takes tile t mod 2 of a; d [264*64,n] holds product t of the last 264 in tile t mod 264",
    .axes = 2,
    .axis = {WGMMA_AXES},
    .buffers = 3,
    .buffer =
        {
            {"a", RIDGE_E4M3, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, a_count},
            {"b", RIDGE_E4M3, RIDGE_INPUT, RIDGE_FILL_NORMAL, 1, b_count},
            {"d", RIDGE_F32, RIDGE_OUTPUT, RIDGE_FILL_BITS, 0, wgmma_d_count},
        },
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .tolerance =
        {0, 0x1p-6,
         "FP8 sums keep 13 bits below the largest addend (DeepSeek-V3, arXiv 2412.19437, 3.3.2): 16 instructions of "
         "33 truncated addends, partial sums below a quarter of the sum of magnitudes: 16 * 33 * 2^-13 / 4 < 2^-5.9"},
    .shape_error = wgmma_shape_error,
    .reference = reference,
    .work = work,
    .output_columns = wgmma_d_columns,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "kernels/ceiling_fma_f32/alu_ceiling.h"
#include "kernels/ceiling_fma_f32/fma_f32.h"
#include "kernels/support/fill.h"
#include "kernels/support/numeric.h"

/* c uniform in [1.5, 1.9). */
static void fill(const int64_t *dim, int hard, uint64_t seed, void *const *buffer)
{
    (void)dim, (void)hard;
    float *c = buffer[1];
    for (int i = 0; i < ALU_THREADS; i++) {
        fill_element(c, RIDGE_F32, RIDGE_FILL_UNIFORM, 1, 0, seed, i);
        c[i] = 1.7f + 0.2f * c[i];
    }
}

static double unit(const uint32_t *seed, uint32_t parameter, int kind)
{
    float c = f32_from_bits(parameter), sum = 0;
    for (int chain = 0; chain < ALU_CHAINS; chain++) {
        float x = ldexpf(f32_from_bits(seed[chain]), -kind);
        for (int step = 0; step < FMA_STEPS; step++)
            x = fmaf(x, -x, c);
        sum += x;
    }
    return sum;
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    alu_reference(buffer[0], buffer[1], dim[0], unit, ref[0], mag[0]);
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    work->flop_fp32 = 2 * alu_steps(dim, FMA_STEPS);
}

static const struct ridge_shape shapes[] = ALU_SHAPES(80);
static const int64_t check_dims[][RIDGE_MAX_AXES] = ALU_CHECK_DIMS;

const struct ridge_family ridge_family_ceiling_fma_f32 = {
    .problem = "iters units of 512 threads x 8 chains of 1024 steps x = c - x^2 in FP32 from seed [512,8] and c [512]; "
               "unit u starts at seed / 2^(u mod 3); out [264,512] holds the sums over the chains of the "
               "last 264 units",
    .axes = 1,
    .axis = {ALU_AXES},
    .buffers = 3,
    .buffer =
        {
            {"seed", RIDGE_F32, RIDGE_INPUT, RIDGE_FILL_UNIFORM, 1, alu_seed_count},
            {"c", RIDGE_F32, RIDGE_INPUT, RIDGE_FILL_CUSTOM, 0, alu_parameter_count},
            {"out", RIDGE_F32, RIDGE_OUTPUT, RIDGE_FILL_BITS, 0, alu_word_count},
        },
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .tolerance = {0, 0, "exact: IEEE 754 fused multiply-add, rounded to nearest, in the order of the problem"},
    .fill = fill,
    .reference = reference,
    .work = work,
};

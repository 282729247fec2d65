/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_cvt_f16_f32/cvt_f16_f32.h"
#include "kernels/ceiling_fma_f32/alu_ceiling.h"
#include "kernels/support/numeric.h"

static double unit(const uint32_t *seed, uint32_t mask, int kind)
{
    uint32_t word = 0;
    for (int chain = 0; chain < ALU_CHAINS; chain++) {
        uint32_t x = (seed[chain] ^ UINT32_C(0x12345678) * (uint32_t)kind) & ~(uint32_t)CVT_F16_CLEAR;
        for (int step = 0; step < CVT_F16_STEPS; step++)
            x = ~(f32_bits(f16_to_f32((uint16_t)x)) ^ f32_bits(f16_to_f32((uint16_t)(x >> 16)))) & mask &
                ~(uint32_t)CVT_F16_CLEAR;
        word ^= x;
    }
    return word;
}

static void reference(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag)
{
    alu_reference(buffer[0], buffer[1], dim[0], unit, ref[0], mag[0]);
}

static void work(const int64_t *dim, struct ridge_work *work)
{
    work->cvt_f16_f32 = 2 * alu_steps(dim, CVT_F16_STEPS);
}

static const struct ridge_shape shapes[] = ALU_SHAPES(80);
static const int64_t check_dims[][RIDGE_MAX_AXES] = ALU_CHECK_DIMS;

const struct ridge_family ridge_family_ceiling_cvt_f16_f32 = {
    .problem =
        "iters units of 512 threads x 8 chains of 256 steps x = ~(f32(low half of x) ^ f32(high half)) & mask without "
        "bits 13 "
        "and 29, x two f16, from seed [512,8] ^ 0x12345678 (u mod 3) in unit u and mask [512]; out [264,512] holds the "
        "XOR over the chains of the last 264 units",
    .axes = 1,
    .axis = {ALU_AXES},
    .buffers = 3,
    .buffer =
        {
            {"seed", RIDGE_U32, RIDGE_INPUT, RIDGE_FILL_BITS, 0, alu_seed_count},
            {"mask", RIDGE_U32, RIDGE_INPUT, RIDGE_FILL_BITS, 0, alu_parameter_count},
            {"out", RIDGE_U32, RIDGE_OUTPUT, RIDGE_FILL_BITS, 0, alu_word_count},
        },
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .tolerance = {0, 0, "exact: every f16 is an f32"},
    .reference = reference,
    .work = work,
};

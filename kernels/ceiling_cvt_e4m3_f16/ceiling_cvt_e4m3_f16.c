/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_cvt_e4m3_f16/cvt_e4m3_f16.h"
#include "kernels/ceiling_fma_f32/alu_ceiling.h"
#include "kernels/support/numeric.h"

/* The instruction makes every NaN 0x7fff. */
static uint32_t f16_of_e4m3(uint32_t bits)
{
    return (bits & 127) == 127 ? 0x7fff : f16_from_f32(e4m3_to_f32((uint8_t)bits));
}

static double unit(const uint32_t *seed, uint32_t factor, int kind)
{
    uint32_t word = 0;
    for (int chain = 0; chain < ALU_CHAINS; chain++) {
        uint32_t x = seed[chain] ^ UINT32_C(0x12345678) * (uint32_t)kind;
        for (int step = 0; step < CVT_E4M3_STEPS; step++) {
            uint32_t low = f16_of_e4m3(x & 255) | f16_of_e4m3(x >> 8 & 255) << 16;
            uint32_t high = f16_of_e4m3(x >> 16 & 255) | f16_of_e4m3(x >> 24) << 16;
            x = low * factor + high;
        }
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
    work->cvt_e4m3_f16 = 4 * alu_steps(dim, CVT_E4M3_STEPS);
}

static const struct ridge_shape shapes[] = ALU_SHAPES(40);
static const int64_t check_dims[][RIDGE_MAX_AXES] = ALU_CHECK_DIMS;

const struct ridge_family ridge_family_ceiling_cvt_e4m3_f16 = {
    .problem = "iters units of 512 threads x 8 chains of 256 steps x = f16x2(low pair of x) * a + f16x2(high pair) on "
               "the bits, "
               "x four e4m3, NaN to 0x7fff, from seed [512,8] ^ 0x12345678 (u mod 3) in unit u and a [512]; out "
               "[264,512] holds "
               "the XOR over the chains of the last 264 units",
    .axes = 1,
    .axis = {ALU_AXES},
    .buffers = 3,
    .buffer =
        {
            {"seed", RIDGE_U32, RIDGE_INPUT, RIDGE_FILL_BITS, 0, alu_seed_count},
            {"a", RIDGE_U32, RIDGE_INPUT, RIDGE_FILL_BITS, 0, alu_parameter_count},
            {"out", RIDGE_U32, RIDGE_OUTPUT, RIDGE_FILL_BITS, 0, alu_word_count},
        },
    .shape = shapes,
    .shapes = sizeof shapes / sizeof *shapes,
    .check_dim = check_dims,
    .check_dims = sizeof check_dims / sizeof *check_dims,
    .tolerance = {0, 0, "exact: every finite e4m3 is an f16, NaN is canonical"},
    .reference = reference,
    .work = work,
};

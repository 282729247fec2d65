/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernel.h"
#include "kernels/support/numeric.h"

enum { TOKENS, HEADS, DIM, POSITIONS };

static void rotate_head(uint16_t *x, const float *row, int64_t d)
{
    for (int64_t i = 0; i < d; i += 2) {
        const float x0 = bf16_to_f32(x[i]), x1 = bf16_to_f32(x[i + 1]), c = row[i], s = row[i + 1];
        x[i] = bf16_from_f32(x0 * c - x1 * s);
        x[i + 1] = bf16_from_f32(x0 * s + x1 * c);
    }
}

static int launch(const struct ridge_call *call)
{
    const int64_t *dim = call->dim, heads = dim[HEADS], d = dim[DIM];
    uint16_t *x = call->buffer[0];
    const int32_t *position = call->buffer[1];
    const float *table = call->buffer[2];
#pragma omp parallel for
    for (int64_t t = 0; t < dim[TOKENS]; t++) {
        if (position[t] < 0 || position[t] >= dim[POSITIONS])
            continue;
        for (int64_t h = 0; h < heads; h++)
            rotate_head(x + (t * heads + h) * d, table + position[t] * d, d);
    }
    return 0;
}

const struct ridge_variant ridge_variant_rope_h02_lut = {
    .idea = "cosines and sines from the table, one row a token",
    .source = "",
    .changes = "a table row, read once a token and kept in the L1 cache for its heads, replaces sine and cosine",
    .kind = RIDGE_HOST,
    .launch = launch,
};

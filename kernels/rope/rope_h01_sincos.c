/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernel.h"
#include "kernels/support/numeric.h"

#include <math.h>

enum { TOKENS, HEADS, DIM, POSITIONS };

static void rotate(uint16_t *x, float c, float s)
{
    const float x0 = bf16_to_f32(x[0]), x1 = bf16_to_f32(x[1]);
    x[0] = bf16_from_f32(x0 * c - x1 * s);
    x[1] = bf16_from_f32(x0 * s + x1 * c);
}

static int launch(const struct ridge_call *call)
{
    const int64_t *dim = call->dim, heads = dim[HEADS], d = dim[DIM];
    uint16_t *x = call->buffer[0];
    const int32_t *position = call->buffer[1];
#pragma omp parallel for
    for (int64_t t = 0; t < dim[TOKENS]; t++) {
        if (position[t] < 0 || position[t] >= dim[POSITIONS])
            continue;
        for (int64_t i = 0; i < d; i += 2) {
            const double angle = (double)position[t] * pow(10000, -(double)i / (double)d);
            const float c = (float)cos(angle), s = (float)sin(angle);
            for (int64_t h = 0; h < heads; h++)
                rotate(x + (t * heads + h) * d + i, c, s);
        }
    }
    return 0;
}

const struct ridge_variant ridge_variant_rope_h01_sincos = {
    .idea = "sine and cosine in double precision, once a token and pair; tokens over the cores",
    .source = "Su et al., arXiv:2104.09864, equation 34",
    .changes = "",
    .kind = RIDGE_HOST,
    .launch = launch,
};

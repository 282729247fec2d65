/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernel.h"
#include "kernels/support/numeric.h"

static int launch(const struct ridge_call *call)
{
    const int64_t m = call->dim[0], n = call->dim[1], k = call->dim[2];
    const uint16_t *a = call->buffer[0], *b = call->buffer[1];
    uint16_t *d = call->buffer[2];
#pragma omp parallel for collapse(2)
    for (int64_t row = 0; row < m; row++) {
        for (int64_t column = 0; column < n; column++) {
            float sum = 0;
            for (int64_t i = 0; i < k; i++)
                sum += bf16_to_f32(a[row * k + i]) * bf16_to_f32(b[column * k + i]);
            d[row * n + column] = bf16_from_f32(sum);
        }
    }
    return 0;
}

const struct ridge_variant ridge_variant_gemm_bf16_h01_naive = {
    .idea = "three loops, operands widened to FP32 one by one, elements over the cores",
    .source = "",
    .changes = "",
    .kind = RIDGE_HOST,
    .launch = launch,
};

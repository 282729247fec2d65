/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernel.h"

static int launch(const struct ridge_call *call)
{
    const int64_t m = call->dim[0], n = call->dim[1], k = call->dim[2];
    const float *a = call->buffer[0], *b = call->buffer[1];
    float *d = call->buffer[2];
#pragma omp parallel for
    for (int64_t row = 0; row < m; row++) {
        for (int64_t column = 0; column < n; column++) {
            float sum = 0;
            for (int64_t i = 0; i < k; i++)
                sum += a[row * k + i] * b[column * k + i];
            d[row * n + column] = sum;
        }
    }
    return 0;
}

const struct ridge_variant ridge_variant_gemm_f32_h01_naive = {
    .idea = "three loops, one dot product an element, rows over the cores",
    .source = "",
    .changes = "",
    .kind = RIDGE_HOST,
    .launch = launch,
};

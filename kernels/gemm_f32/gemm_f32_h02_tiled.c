/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernel.h"

enum { T = 32 };

static int64_t clip(int64_t left)
{
    return left < T ? left : T;
}

static void tile(const int64_t *dim, const float *a, const float *b, float *d, int64_t row0, int64_t column0)
{
    const int64_t n = dim[1], k = dim[2], rows = clip(dim[0] - row0), columns = clip(n - column0);
    float sum[T][T] = {{0}}, turned[T][T] = {{0}};
    for (int64_t k0 = 0; k0 < k; k0 += T) {
        const int64_t depth = clip(k - k0);
        for (int64_t j = 0; j < columns; j++)
            for (int64_t i = 0; i < depth; i++)
                turned[i][j] = b[(column0 + j) * k + k0 + i];
        for (int64_t r = 0; r < rows; r++)
            for (int64_t i = 0; i < depth; i++)
                for (int64_t j = 0; j < T; j++)
                    sum[r][j] += a[(row0 + r) * k + k0 + i] * turned[i][j];
    }
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < columns; j++)
            d[(row0 + r) * n + column0 + j] = sum[r][j];
}

static int launch(const struct ridge_call *call)
{
    const float *a = call->buffer[0], *b = call->buffer[1];
    float *d = call->buffer[2];
#pragma omp parallel for collapse(2)
    for (int64_t row = 0; row < call->dim[0]; row += T)
        for (int64_t column = 0; column < call->dim[1]; column += T)
            tile(call->dim, a, b, d, row, column);
    return 0;
}

const struct ridge_variant ridge_variant_gemm_f32_h02_tiled = {
    .idea = "32 x 32 tiles that stay in the L1 cache",
    .source = "Lam, Rothberg, Wolf, ASPLOS 1991",
    .changes =
        "each loaded element serves 32 products; the tile of B is transposed, so the inner loop is a vector loop",
    .kind = RIDGE_HOST,
    .launch = launch,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/transpose_e4m3/transpose_e4m3_tile.cuh"

/* Two tiles a CTA along k, which may be of two groups; the second is missing where their number is odd. A half warp
 * writes 256 bytes of a row of Y. */
static __global__ void __launch_bounds__(TRANSPOSE_THREADS, 5)
    transpose_tall(const uint8_t *__restrict__ x, const int32_t *__restrict__ ks, uint8_t *__restrict__ y, int64_t m,
                   int64_t k, int groups)
{
    __shared__ __align__(16) uint32_t tile[2][TRANSPOSE_SIDE * 32];
    const int part = threadIdx.x % 8, quad = threadIdx.x / 8, half = quad % 2;
    const int64_t column0 = (int64_t)blockIdx.x * TRANSPOSE_SIDE, k0 = (int64_t)blockIdx.y * 2 * TRANSPOSE_SIDE;
    const int64_t k1 = k0 + TRANSPOSE_SIDE, column = column0 + 16 * part;
    uint4 rows[2][4] = {};
#pragma unroll
    for (int t = 0; t < 2; t++)
#pragma unroll
        for (int r = 0; r < 4; r++)
            if (column < m && (t == 0 || k1 < k))
                rows[t][r] = ld_global_stream_v4(x + (k0 + t * TRANSPOSE_SIDE + 4 * quad + r) * m + column);
    grouped_k_place place[2];
    place[0] = place[1] = grouped_k_place_of(ks, groups, k0, k);
    if (k1 >= place[0].first + place[0].k)
        place[1] = grouped_k_place_of(ks, groups, k1, k);
#pragma unroll
    for (int t = 0; t < 2; t++)
        transpose_put(tile[t], 16 * part, quad, rows[t]);
    __syncthreads();
    const grouped_k_place at = half ? place[1] : place[0];
    if (at.k == 0 || (half && k1 >= k))
        return;
    uint8_t *out = y + m * at.first + k0 + half * TRANSPOSE_SIDE - at.first + 16 * part;
#pragma unroll
    for (int r = 0; r < 8; r++) {
        const int row = threadIdx.x / 16 + 16 * r;
        if (column0 + row < m)
            st_global_v4(out + (column0 + row) * at.k, *(const uint4 *)&tile[half][transpose_word(row, 4 * part)]);
    }
}

static int launch(const struct ridge_call *call)
{
    const int64_t m = call->dim[TRANSPOSE_M], k = call->dim[TRANSPOSE_K];
    const dim3 grid((unsigned)ridge_ceil_div(m, TRANSPOSE_SIDE), (unsigned)ridge_ceil_div(k, 2 * TRANSPOSE_SIDE));
    transpose_tall<<<grid, TRANSPOSE_THREADS, 0, ridge_stream(call)>>>(
        (const uint8_t *)call->buffer[TRANSPOSE_X], (const int32_t *)call->buffer[TRANSPOSE_KS],
        (uint8_t *)call->buffer[TRANSPOSE_Y], m, k, (int)call->dim[TRANSPOSE_GROUPS]);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_transpose_e4m3_04_tall = {
    .idea = "256 x 128 bytes a CTA: rows of Y are written 256 bytes at a time",
    .source = "",
    .changes = "the two tiles lie one behind the other along k, so that what is written together is twice as long",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .unsupported = transpose_unsupported,
    .launch = launch,
    .kernel = (const void *)transpose_tall,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_grouped_k/gemm_grouped_k_place.cuh"
#include "kernels/support/launch.cuh"
#include "kernels/transpose_e4m3/transpose_e4m3.h"

#define THREADS 128

/* A CTA: 128 of k in one column of X. */
static __global__ void __launch_bounds__(THREADS)
    transpose_e4m3_naive(const uint8_t *__restrict__ x, const int32_t *__restrict__ ks, uint8_t *__restrict__ y,
                         int64_t m, int64_t k, int groups)
{
    const int64_t row = blockIdx.x % m, i = blockIdx.x / m * THREADS + threadIdx.x;
    const grouped_k_place place = grouped_k_place_of(ks, groups, i - threadIdx.x, k);
    if (place.k > 0)
        y[m * place.first + row * place.k + i - place.first] = x[i * m + row];
}

static int launch(const struct ridge_call *call)
{
    const int64_t m = call->dim[TRANSPOSE_M], k = call->dim[TRANSPOSE_K];
    transpose_e4m3_naive<<<(unsigned)(k / THREADS * m), THREADS, 0, ridge_stream(call)>>>(
        (const uint8_t *)call->buffer[TRANSPOSE_X], (const int32_t *)call->buffer[TRANSPOSE_KS],
        (uint8_t *)call->buffer[TRANSPOSE_Y], m, k, (int)call->dim[TRANSPOSE_GROUPS]);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_transpose_e4m3_01_naive = {
    .idea = "one thread a byte, written side by side, read from rows of X",
    .source = "",
    .changes = "",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .launch = launch,
    .kernel = (const void *)transpose_e4m3_naive,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/support/block_scale.h"
#include "kernels/support/launch.cuh"

constexpr int THREADS = 256;

static __global__ void __launch_bounds__(THREADS)
    transpose_scales_naive(const float *__restrict__ in, float *__restrict__ out, int64_t m, int64_t blocks)
{
    const int64_t pitch = block_scale_pitch(m), i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= pitch * blocks)
        return;
    const int64_t block = i / pitch, row = i - block * pitch;
    out[i] = row < m ? in[row * blocks + block] : 0;
}

static int launch(const struct ridge_call *call)
{
    const int64_t blocks = block_scale_count(call->dim[1]), count = block_scale_pitch(call->dim[0]) * blocks;
    transpose_scales_naive<<<(unsigned)ridge_ceil_div(count, THREADS), THREADS, 0, ridge_stream(call)>>>(
        (const float *)call->buffer[0], (float *)call->buffer[1], call->dim[0], blocks);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_transpose_scales_01_naive = {
    .idea = "one thread a value, in the order of out: stores join, loads are a row apart",
    .source = "",
    .changes = "",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .launch = launch,
    .kernel = (const void *)transpose_scales_naive,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/support/block_scale.h"
#include "kernels/support/launch.cuh"

constexpr int THREADS = 256;

static __global__ void __launch_bounds__(THREADS)
    pack_ue8m0_naive(const float *__restrict__ in, uint32_t *__restrict__ out, int64_t m, int64_t blocks, int64_t count)
{
    const int64_t pitch = block_scale_pitch(m), i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= count)
        return;
    const int64_t row = i % pitch, first = i / pitch * 4;
    uint32_t word = 0;
    for (int64_t j = 0; row < m && j < 4 && first + j < blocks; j++)
        word |= (uint32_t)ue8m0_from_f32(in[row * blocks + first + j]) << 8 * j;
    out[i] = word;
}

static int launch(const struct ridge_call *call)
{
    const int64_t m = call->dim[0], k = call->dim[1], count = block_scale_pitch(m) * block_scale_words(k);
    pack_ue8m0_naive<<<(unsigned)ridge_ceil_div(count, THREADS), THREADS, 0, ridge_stream(call)>>>(
        (const float *)call->buffer[0], (uint32_t *)call->buffer[1], m, block_scale_count(k), count);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_pack_ue8m0_01_naive = {
    .idea = "one thread a word, in the order of out: stores join, loads are a row apart",
    .source = "OCP Microscaling Formats 1.0, 5.4.1",
    .changes = "",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .launch = launch,
    .kernel = (const void *)pack_ue8m0_naive,
};

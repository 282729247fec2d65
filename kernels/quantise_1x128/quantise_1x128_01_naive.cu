/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/support/block_scale.h"
#include "kernels/support/launch.cuh"

constexpr int THREADS = 128;

/* Neighbouring threads take neighbouring rows of a block of k: scales join, values do not. */
static __global__ void __launch_bounds__(THREADS)
    quantise_1x128_naive(const uint16_t *__restrict__ x, uint8_t *__restrict__ codes, float *__restrict__ scale,
                         int64_t m, int64_t k)
{
    const int64_t pitch = block_scale_pitch(m), i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const int64_t block = i / pitch, row = i % pitch;
    if (block >= block_scale_count(k))
        return;
    if (row >= m) {
        scale[i] = 0;
        return;
    }
    const int64_t first = row * k + block * 128, rest = k - block * 128;
    const int count = (int)(rest < 128 ? rest : 128);
    uint32_t amax = 0;
    for (int j = 0; j < count; j++)
        amax = block_scale_larger(amax, x[first + j]);
    const float by = block_scale_of(bf16_to_f32((uint16_t)amax)), inverse = 1 / by;
    scale[i] = by;
    for (int j = 0; j < count; j++)
        codes[first + j] = block_scale_code(bf16_to_f32(x[first + j]), inverse);
}

static int launch(const struct ridge_call *call)
{
    const int64_t m = call->dim[0], k = call->dim[1];
    const int64_t threads = block_scale_count(k) * block_scale_pitch(m);
    quantise_1x128_naive<<<(unsigned)ridge_ceil_div(threads, THREADS), THREADS, 0, ridge_stream(call)>>>(
        (const uint16_t *)call->buffer[0], (uint8_t *)call->buffer[1], (float *)call->buffer[2], m, k);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_quantise_1x128_01_naive = {
    .idea = "one thread a block of 128 values: reads them for the amax and again for the codes",
    .source = "DeepSeek-V3, arXiv 2412.19437, 3.3.2",
    .changes = "",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .launch = launch,
    .kernel = (const void *)quantise_1x128_naive,
};

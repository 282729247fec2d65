/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/support/block_scale.h"
#include "kernels/support/launch.cuh"

constexpr int THREADS = 128;

static __global__ void __launch_bounds__(THREADS)
    quantise_128x128_naive(const uint16_t *__restrict__ x, uint8_t *__restrict__ codes, float *__restrict__ scale,
                           int64_t n, int64_t k)
{
    __shared__ uint32_t largest[THREADS];
    const int64_t across = block_scale_count(k), first = blockIdx.x / across * 128, rest = n - first;
    const int64_t column = blockIdx.x % across * 128 + threadIdx.x;
    const int rows = column < k ? (int)(rest < 128 ? rest : 128) : 0;
    uint32_t amax = 0;
    for (int row = 0; row < rows; row++)
        amax = block_scale_larger(amax, x[(first + row) * k + column]);
    largest[threadIdx.x] = amax;
    __syncthreads();
    for (int i = 0; i < THREADS; i++)
        amax = max(amax, largest[i]);
    const float by = block_scale_of(bf16_to_f32((uint16_t)amax)), inverse = 1 / by;
    if (threadIdx.x == 0)
        scale[blockIdx.x] = by;
    for (int row = 0; row < rows; row++)
        codes[(first + row) * k + column] = block_scale_code(bf16_to_f32(x[(first + row) * k + column]), inverse);
}

static int launch(const struct ridge_call *call)
{
    const int64_t n = call->dim[0], k = call->dim[1];
    quantise_128x128_naive<<<(unsigned)(block_scale_count(n) * block_scale_count(k)), THREADS, 0, ridge_stream(call)>>>(
        (const uint16_t *)call->buffer[0], (uint8_t *)call->buffer[1], (float *)call->buffer[2], n, k);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_quantise_128x128_01_naive = {
    .idea = "one CTA a block, one thread a column: reads the block for the amax and again for the codes",
    .source = "DeepSeek-V3, arXiv 2412.19437, 3.3.2",
    .changes = "",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .launch = launch,
    .kernel = (const void *)quantise_128x128_naive,
};

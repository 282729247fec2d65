/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/support/block_scale.h"
#include "kernels/support/launch.cuh"

/* One CTA of 128 threads a tile: first the largest magnitude by an atomic, then the codes, a column a thread. */
static __global__ void quantise_128x128_reference(const uint16_t *x, float *code, float *scale, int64_t n, int64_t k)
{
    __shared__ uint32_t amax;
    const int64_t across = block_scale_count(k), down = blockIdx.x / across, right = blockIdx.x % across;
    const int64_t column = right * 128 + threadIdx.x, end = n < down * 128 + 128 ? n : down * 128 + 128;
    uint32_t mine = 0;
    if (threadIdx.x == 0)
        amax = 0;
    __syncthreads();
    for (int64_t row = down * 128; column < k && row < end; row++)
        mine = block_scale_larger(mine, x[row * k + column]);
    atomicMax(&amax, mine);
    __syncthreads();
    const float by = block_scale_of(bf16_to_f32((uint16_t)amax));
    if (threadIdx.x == 0)
        scale[blockIdx.x] = by;
    for (int64_t row = down * 128; column < k && row < end; row++)
        code[row * k + column] = block_scale_code(bf16_to_f32(x[row * k + column]), 1 / by);
}

extern "C" int ridge_reference_quantise_128x128(const struct ridge_call *call, float *const *ref, float *const *mag)
{
    const int64_t n = call->dim[0], k = call->dim[1], tiles = block_scale_count(n) * block_scale_count(k);
    RIDGE_CUDA(call, cudaMemsetAsync(mag[0], 0, (size_t)(n * k) * sizeof(float), ridge_stream(call)));
    RIDGE_CUDA(call, cudaMemsetAsync(mag[1], 0, (size_t)tiles * sizeof(float), ridge_stream(call)));
    quantise_128x128_reference<<<(unsigned)tiles, 128, 0, ridge_stream(call)>>>((const uint16_t *)call->buffer[0],
                                                                                ref[0], ref[1], n, k);
    return RIDGE_LAUNCHED(call);
}

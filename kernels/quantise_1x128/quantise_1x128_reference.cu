/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/support/block_scale.h"
#include "kernels/support/launch.cuh"

/* One thread a scale, padding included. */
static __global__ void quantise_1x128_reference(const uint16_t *x, float *code, float *scale, int64_t m, int64_t k)
{
    const int64_t pitch = block_scale_pitch(m), i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int64_t block = i / pitch, row = i % pitch, end = k < block * 128 + 128 ? k : block * 128 + 128;
    if (block >= block_scale_count(k))
        return;
    uint32_t amax = 0;
    for (int64_t at = block * 128; row < m && at < end; at++)
        amax = block_scale_larger(amax, x[row * k + at]);
    const float by = block_scale_of(bf16_to_f32((uint16_t)amax));
    scale[i] = row < m ? by : 0;
    for (int64_t at = block * 128; row < m && at < end; at++)
        code[row * k + at] = block_scale_code(bf16_to_f32(x[row * k + at]), 1 / by);
}

extern "C" int ridge_reference_quantise_1x128(const struct ridge_call *call, float *const *ref, float *const *mag)
{
    const int64_t m = call->dim[0], k = call->dim[1], scales = block_scale_count(k) * block_scale_pitch(m);
    RIDGE_CUDA(call, cudaMemsetAsync(mag[0], 0, (size_t)(m * k) * sizeof(float), ridge_stream(call)));
    RIDGE_CUDA(call, cudaMemsetAsync(mag[1], 0, (size_t)scales * sizeof(float), ridge_stream(call)));
    quantise_1x128_reference<<<(unsigned)ridge_ceil_div(scales, 128), 128, 0, ridge_stream(call)>>>(
        (const uint16_t *)call->buffer[0], ref[0], ref[1], m, k);
    return RIDGE_LAUNCHED(call);
}

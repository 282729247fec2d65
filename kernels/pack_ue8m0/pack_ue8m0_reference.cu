/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/support/block_scale.h"
#include "kernels/support/launch.cuh"

/* One thread a byte of the words, which count as integers' bits. */
static __global__ void pack_ue8m0_reference(const float *in, uint8_t *ref, int64_t m, int64_t blocks, int64_t words)
{
    const int64_t pitch = block_scale_pitch(m), i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int64_t row = i / 4 % pitch, block = i / 4 / pitch * 4 + i % 4;
    if (i < 4 * pitch * words)
        ref[i] = row < m && block < blocks ? ue8m0_from_f32(in[row * blocks + block]) : 0;
}

extern "C" int ridge_reference_pack_ue8m0(const struct ridge_call *call, float *const *ref, float *const *mag)
{
    const int64_t m = call->dim[0], k = call->dim[1], count = block_scale_pitch(m) * block_scale_words(k);
    RIDGE_CUDA(call, cudaMemsetAsync(mag[0], 0, (size_t)count * sizeof(float), ridge_stream(call)));
    pack_ue8m0_reference<<<(unsigned)ridge_ceil_div(4 * count, 256), 256, 0, ridge_stream(call)>>>(
        (const float *)call->buffer[0], (uint8_t *)ref[0], m, block_scale_count(k), block_scale_words(k));
    return RIDGE_LAUNCHED(call);
}

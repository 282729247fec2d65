/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/support/block_scale.h"
#include "kernels/support/launch.cuh"

static __global__ void transpose_scales_reference(const float *in, float *ref, int64_t m, int64_t blocks)
{
    const int64_t pitch = block_scale_pitch(m), i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pitch * blocks)
        ref[i] = i % pitch < m ? in[i % pitch * blocks + i / pitch] : 0;
}

extern "C" int ridge_reference_transpose_scales(const struct ridge_call *call, float *const *ref, float *const *mag)
{
    const int64_t blocks = block_scale_count(call->dim[1]), count = block_scale_pitch(call->dim[0]) * blocks;
    RIDGE_CUDA(call, cudaMemsetAsync(mag[0], 0, (size_t)count * sizeof(float), ridge_stream(call)));
    transpose_scales_reference<<<(unsigned)ridge_ceil_div(count, 256), 256, 0, ridge_stream(call)>>>(
        (const float *)call->buffer[0], ref[0], call->dim[0], blocks);
    return RIDGE_LAUNCHED(call);
}

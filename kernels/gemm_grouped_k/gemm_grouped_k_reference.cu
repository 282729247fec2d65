/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_fp8_block_1d1d/gemm_1d1d_reference.cuh"
#include "kernels/gemm_grouped_k/gemm_grouped_k.h"

/* One launch a group; reads ks back. */
extern "C" int ridge_reference_gemm_grouped_k(const struct ridge_call *call, float *const *ref, float *const *mag)
{
    const int64_t groups = call->dim[GROUPED_K_GROUPS], m = call->dim[GROUPED_K_M], n = call->dim[GROUPED_K_N];
    int32_t ks[GROUPED_K_MAX_GROUPS];
    RIDGE_CUDA(call, cudaMemcpyAsync(ks, call->buffer[GROUPED_K_KS], (size_t)groups * sizeof *ks,
                                     cudaMemcpyDeviceToHost, ridge_stream(call)));
    RIDGE_CUDA(call, cudaStreamSynchronize(ridge_stream(call)));
    for (int64_t g = 0, first = 0; g < groups; first += ks[g++]) {
        const int64_t dim[RIDGE_MAX_AXES] = {m, n, ks[g]}, block = first / 128;
        void *const buffer[RIDGE_MAX_BUFFERS] = {
            (char *)call->buffer[GROUPED_K_A] + m * first,
            (char *)call->buffer[GROUPED_K_B] + n * first,
            (float *)call->buffer[GROUPED_K_SCALE_A] + block * gemm_fp8_block_pitch_a(m),
            (float *)call->buffer[GROUPED_K_SCALE_B] + block * gemm_fp8_block_pitch_a(n),
            (float *)call->buffer[GROUPED_K_D] + g * m * n,
        };
        struct ridge_call part = *call;
        part.dim = dim;
        part.buffer = buffer;
        if (gemm_1d1d_reference(&part, ref[0] + g * m * n, mag[0] + g * m * n))
            return 1;
    }
    return 0;
}

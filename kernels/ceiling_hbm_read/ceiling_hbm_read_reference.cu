/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_hbm_read/hbm_read.h"
#include "kernels/support/launch.cuh"

static __global__ void hbm_read_reference(const uint32_t *src, float *ref, float *mag, long long pieces)
{
    long long piece = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (piece >= pieces)
        return;
    uint32_t word = 0;
    for (int i = 0; i < HBM_PIECE_BYTES / 4; i++)
        word ^= src[piece * (HBM_PIECE_BYTES / 4) + i];
    ref[piece] = __uint_as_float(word);
    mag[piece] = 0;
}

extern "C" int ridge_reference_ceiling_hbm_read(const struct ridge_call *call, float *const *ref, float *const *mag)
{
    long long pieces = call->dim[0] / HBM_PIECE_BYTES;
    hbm_read_reference<<<(unsigned)((pieces + 127) / 128), 128, 0, ridge_stream(call)>>>(
        (const uint32_t *)call->buffer[0], ref[0], mag[0], pieces);
    return RIDGE_LAUNCHED(call);
}

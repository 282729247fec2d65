/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_hbm_read/hbm_read.h"
#include "kernels/ptx/launch.cuh"

static __global__ void hbm_read_reference(const uint32_t *src, float *ref, float *mag, long long pieces)
{
    long long piece = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (piece >= pieces)
        return;
    uint32_t word = 0;
    for (int i = 0; i < HBM_PIECE_BYTES / 4; i++)
        word ^= src[piece * (HBM_PIECE_BYTES / 4) + i];
    for (int byte = 0; byte < 4; byte++) {
        ref[piece * 4 + byte] = (float)(word >> 8 * byte & 255);
        mag[piece * 4 + byte] = 0;
    }
}

extern "C" int ridge_reference_ceiling_hbm_read(const struct ridge_call *call, float *const *ref, float *const *mag)
{
    long long pieces = call->dim[0] / HBM_PIECE_BYTES;
    hbm_read_reference<<<(unsigned)((pieces + 127) / 128), 128, 0, (cudaStream_t)call->stream>>>(
        (const uint32_t *)call->buffer[0], ref[0], mag[0], pieces);
    return launched(call, "hbm_read_reference");
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ptx/emulate.cuh"

#include "kernels/ceiling_hbm_read/hbm_read.cuh"

/* Every warp of a resident grid walks over the pieces; half a piece is always in flight while the other is folded. */
static __global__ void __launch_bounds__(256, 3)
    hbm_read_persistent(const uint4 *__restrict__ src, uint32_t *__restrict__ sum, long long pieces)
{
    long long stride = (long long)gridDim.x * (blockDim.x / 32);
    long long piece = (long long)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (piece >= pieces)
        return;
    const uint4 *from = src + piece * (HBM_PIECE_BYTES / 16) + threadIdx.x % 32;
    uint4 v[2][8];
#pragma unroll
    for (int i = 0; i < 8; i++)
        v[0][i] = ld_global_stream_v4(from + i * 32);
    for (; piece < pieces; piece += stride) {
        uint32_t word = 0;
#pragma unroll
        for (int i = 0; i < 8; i++)
            v[1][i] = ld_global_stream_v4(from + (8 + i) * 32);
#pragma unroll
        for (int i = 0; i < 8; i++)
            word ^= fold(v[0][i]);
        if (piece + stride < pieces) {
            from += stride * (HBM_PIECE_BYTES / 16);
#pragma unroll
            for (int i = 0; i < 8; i++)
                v[0][i] = ld_global_stream_v4(from + i * 32);
        }
#pragma unroll
        for (int i = 0; i < 8; i++)
            word ^= fold(v[1][i]);
        word = fold_warp(word);
        if (threadIdx.x % 32 == 0)
            sum[piece] = word;
    }
}

static int launch(const struct ridge_call *call)
{
    hbm_read_persistent<<<3 * call->device->sms, 256, 0, ridge_stream(call)>>>(
        (const uint4 *)call->buffer[0], (uint32_t *)call->buffer[1], call->dim[0] / HBM_PIECE_BYTES);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_ceiling_hbm_read_03_persistent = {
    .idea = "a resident grid, 3 CTAs of 256 threads an SM, the next loads issued before the last are folded",
    .source = "",
    .changes = "no CTA launches during the read; loads of one piece overlap the end of the one before",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .launch = launch,
    .kernel = (const void *)hbm_read_persistent,
};

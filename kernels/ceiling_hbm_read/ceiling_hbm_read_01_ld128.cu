/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_hbm_read/hbm_read.cuh"

/* A warp a piece, 16 loads a lane in two batches; the compiler keeps 6 in flight to stay at 32 registers. */
static __global__ void __launch_bounds__(256)
    hbm_read_ld128(const uint4 *__restrict__ src, uint32_t *__restrict__ sum, long long pieces)
{
    long long piece = (long long)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (piece >= pieces)
        return;
    const uint4 *from = src + piece * (HBM_PIECE_BYTES / 16) + threadIdx.x % 32;
    uint32_t word = 0;
#pragma unroll
    for (int batch = 0; batch < 2; batch++) {
        uint4 v[8];
#pragma unroll
        for (int i = 0; i < 8; i++)
            v[i] = ld_global_stream_v4(from + (batch * 8 + i) * 32);
#pragma unroll
        for (int i = 0; i < 8; i++)
            word ^= fold(v[i]);
    }
    word = fold_warp(word);
    if (threadIdx.x % 32 == 0)
        sum[piece] = word;
}

static int launch(const struct ridge_call *call)
{
    long long pieces = call->dim[0] / HBM_PIECE_BYTES;
    hbm_read_ld128<<<(unsigned)((pieces + 7) / 8), 256, 0, ridge_stream(call)>>>((const uint4 *)call->buffer[0],
                                                                                 (uint32_t *)call->buffer[1], pieces);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_ceiling_hbm_read_01_ld128 = {
    .idea = "a warp per 8 KiB, 16 independent 16-byte loads a thread past L1, all 2048 threads of an SM resident",
    .source = "",
    .changes = "",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .launch = launch,
    .kernel = (const void *)hbm_read_ld128,
};

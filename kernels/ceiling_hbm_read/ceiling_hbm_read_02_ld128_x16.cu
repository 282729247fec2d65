/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_hbm_read/hbm_read.cuh"

/* A warp a piece, all 16 loads of a lane in flight: 64 registers of data, 768 threads an SM. */
static __global__ void __launch_bounds__(256, 3)
    hbm_read_ld128_x16(const uint4 *__restrict__ src, uint32_t *__restrict__ sum, long long pieces)
{
    long long piece = (long long)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (piece >= pieces)
        return;
    const uint4 *from = src + piece * (HBM_PIECE_BYTES / 16) + threadIdx.x % 32;
    uint4 v[16];
#pragma unroll
    for (int i = 0; i < 16; i++)
        v[i] = ld_global_stream_v4(from + i * 32);
    /* Holds the folding back until all loads are issued. */
    asm volatile("" ::: "memory");
    uint32_t word = 0;
#pragma unroll
    for (int i = 0; i < 16; i++)
        word ^= fold(v[i]);
    word = fold_warp(word);
    if (threadIdx.x % 32 == 0)
        sum[piece] = word;
}

static int launch(const struct ridge_call *call)
{
    long long pieces = call->dim[0] / HBM_PIECE_BYTES;
    hbm_read_ld128_x16<<<(unsigned)((pieces + 7) / 8), 256, 0, ridge_stream(call)>>>(
        (const uint4 *)call->buffer[0], (uint32_t *)call->buffer[1], pieces);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_ceiling_hbm_read_02_ld128_x16 = {
    .idea = "16 loads in flight a thread, 768 threads an SM",
    .source = "",
    .changes = "the same bytes in flight from fewer threads",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .launch = launch,
    .kernel = (const void *)hbm_read_ld128_x16,
};

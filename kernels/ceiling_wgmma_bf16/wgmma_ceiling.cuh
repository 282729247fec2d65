/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel of the WGMMA ceilings: one CTA an SM, its operands loaded into shared memory once, then nothing but tile
 * products D[64,n] = A B^T over 512 bytes of k, 16 instructions each, the first of which overwrites the accumulators.
 * Products are dealt round-robin to the warpgroups of the machine. A product is committed as one group, and a
 * warpgroup runs one group ahead, so the tensor cores are never drained between products. `keep` is 0; the compiler
 * must not know, or it deletes every product that is overwritten.
 */
#ifndef RIDGE_WGMMA_CEILING_CUH
#define RIDGE_WGMMA_CEILING_CUH

#include "kernels/ceiling_wgmma_bf16/wgmma_ceiling.h"
#include "kernels/ptx/emulate.cuh"
#include "kernels/ptx/global.cuh"
#include "kernels/support/launch.cuh"
#include "kernels/ptx/shared.cuh"
#include "kernels/ptx/wgmma.cuh"

enum wgmma_source { WGMMA_A_SHARED, WGMMA_A_REGISTERS };

constexpr int wgmma_slices = WGMMA_K_BYTES / 32;

/* Copies `rows` rows of WGMMA_K_BYTES to shared memory: k in four blocks of 128 bytes, each block a swizzled tile of
 * `rows` rows. rows is a multiple of 8. */
static __device__ void wgmma_load_tile(uint32_t tile, const void *source, int rows)
{
    for (int i = threadIdx.x; i < rows * (WGMMA_K_BYTES / 16); i += blockDim.x) {
        int row = i / (WGMMA_K_BYTES / 16);
        int byte = i % (WGMMA_K_BYTES / 16) * 16;
        st_shared_v4(tile + byte / 128 * rows * 128 + swizzle_128(row, byte % 128),
                     ld_global_stream_v4((const char *)source + (size_t)i * 16));
    }
}

/* The fragment of k-slice `slice` of a row-major A tile in global memory. */
static __device__ __forceinline__ void wgmma_load_fragment(uint32_t (&fragment)[4], const void *tile, int slice)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        int row = threadIdx.x / 32 % 4 * 16 + lane / 4 + i % 2 * 8;
        fragment[i] = ((const uint32_t *)tile)[(row * WGMMA_K_BYTES + slice * 32 + i / 2 * 16) / 4 + lane % 4];
    }
}

template <bool fp8, int n>
static __device__ __forceinline__ void wgmma_ss(float (&d)[n / 2], wgmma_slice a, wgmma_slice b, int scale_d)
{
    if constexpr (fp8)
        wgmma_e4m3_ss(d, a, b, scale_d);
    else
        wgmma_bf16_ss(d, a, b, scale_d);
}

template <bool fp8, int n>
static __device__ __forceinline__ void wgmma_rs(float (&d)[n / 2], const uint32_t (&a)[4], wgmma_slice b, int scale_d)
{
    if constexpr (fp8)
        wgmma_e4m3_rs(d, a, b, scale_d);
    else
        wgmma_bf16_rs(d, a, b, scale_d);
}

template <bool fp8, int n, int warpgroups, wgmma_source source>
static __global__ void __launch_bounds__(warpgroups * 128, 1)
    wgmma_ceiling(const void *__restrict__ a, const void *__restrict__ b, float *__restrict__ d, long long tiles,
                  int keep)
{
    extern __shared__ __align__(1024) char memory[];
    constexpr int a_bytes = WGMMA_ROWS * WGMMA_K_BYTES;
    uint32_t a_tiles = shared_address(memory);
    uint32_t b_tile = a_tiles + (source == WGMMA_A_SHARED ? WGMMA_A_TILES * a_bytes : 0);
    int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0); /* uniform, for the compiler too */
    const char *a_source = (const char *)a + warpgroup % WGMMA_A_TILES * a_bytes;

    if (source == WGMMA_A_SHARED)
        for (int i = 0; i < WGMMA_A_TILES; i++)
            wgmma_load_tile(a_tiles + i * a_bytes, (const char *)a + i * a_bytes, WGMMA_ROWS);
    wgmma_load_tile(b_tile, b, n);
    fence_proxy_async();
    emulate_begin();
    __syncthreads();

    uint32_t fragment[source == WGMMA_A_REGISTERS ? wgmma_slices : 1][4];
    if (source == WGMMA_A_REGISTERS) {
#pragma unroll
        for (int slice = 0; slice < wgmma_slices; slice++)
            wgmma_load_fragment(fragment[slice], a_source, slice);
    }
    uint64_t a_descriptor = wgmma_descriptor_128(a_tiles + warpgroup % WGMMA_A_TILES * a_bytes);
    uint64_t b_descriptor = wgmma_descriptor_128(b_tile);
    float sum[n / 2] = {};

    auto product = [&] {
        wgmma_fence();
#pragma unroll
        for (int slice = 0; slice < wgmma_slices; slice++) {
            uint32_t offset = slice % 4 * 32;
            wgmma_slice a_slice = wgmma_descriptor_advance(a_descriptor, slice / 4 * WGMMA_ROWS * 128 + offset);
            wgmma_slice b_slice = wgmma_descriptor_advance(b_descriptor, slice / 4 * n * 128 + offset);
            if constexpr (source == WGMMA_A_SHARED)
                wgmma_ss<fp8, n>(sum, a_slice, b_slice, slice > 0 ? 1 : keep);
            else
                wgmma_rs<fp8, n>(sum, fragment[slice], b_slice, slice > 0 ? 1 : keep);
        }
        wgmma_commit();
    };

    /* The CTA takes `warpgroups` neighbouring products at a time, one a warpgroup, so the loops are uniform. */
    long long stride = (long long)gridDim.x * warpgroups;
    long long first = (long long)blockIdx.x * warpgroups;
    for (; first < tiles - WGMMA_D_TILES; first += stride) {
        product();
        wgmma_wait<1>();
    }
    wgmma_wait<0>();
    for (; first < tiles; first += stride) {
        product();
        wgmma_wait<0>();
        float *out = d + (first + warpgroup) % WGMMA_D_TILES * WGMMA_ROWS * n;
#pragma unroll
        for (int i = 0; i < n / 2; i += 2)
            *(float2 *)(out + wgmma_row(threadIdx.x, i) * n + wgmma_column(threadIdx.x, i)) =
                make_float2(sum[i], sum[i + 1]);
    }
}

/* Host side. One CTA an SM; opts in to the shared memory first, which is cheap and legal while a graph is captured. */
template <bool fp8, int n, int warpgroups, wgmma_source source> static int wgmma_launch(const struct ridge_call *call)
{
    auto kernel = wgmma_ceiling<fp8, n, warpgroups, source>;
    int bytes = ((source == WGMMA_A_SHARED ? WGMMA_A_TILES * WGMMA_ROWS : 0) + n) * WGMMA_K_BYTES;
    RIDGE_CUDA(call, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    kernel<<<call->device->sms, warpgroups * 128, bytes, ridge_stream(call)>>>(
        call->buffer[0], call->buffer[1], (float *)call->buffer[2], call->dim[1], 0);
    return RIDGE_LAUNCHED(call);
}

/* Launches the kernel built for n. */
template <bool fp8, int warpgroups, wgmma_source source, int largest = 256>
static int wgmma_launch_n(const struct ridge_call *call)
{
    switch (call->dim[0]) {
    case 8:
        return wgmma_launch<fp8, 8, warpgroups, source>(call);
    case 16:
        return wgmma_launch<fp8, 16, warpgroups, source>(call);
    case 32:
        return wgmma_launch<fp8, 32, warpgroups, source>(call);
    case 64:
        return wgmma_launch<fp8, 64, warpgroups, source>(call);
    case 96:
        return wgmma_launch<fp8, 96, warpgroups, source>(call);
    case 128:
        return wgmma_launch<fp8, 128, warpgroups, source>(call);
    case 192:
        if constexpr (largest >= 192)
            return wgmma_launch<fp8, 192, warpgroups, source>(call);
        break;
    case 256:
        if constexpr (largest >= 256)
            return wgmma_launch<fp8, 256, warpgroups, source>(call);
        break;
    }
    snprintf(call->error, call->error_bytes, "n=%lld: not built, n is one of 8, 16, 32, 64, 96, 128, 192, 256",
             (long long)call->dim[0]);
    return 1;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensor cores of an H20 on a faster Hopper. A variant whose file includes this one, first, is compiled a second time
 * with RIDGE_EMULATE_H20 for `--emulate h20`. Its kernel calls emulate_begin() before a __syncthreads() of all threads,
 * and functions between wgmma_descriptor_advance and an instruction take a wgmma_slice. In the ordinary build nothing
 * of it is left.
 *
 * In the second build a WGMMA is followed by others of its shape whose A is zero: D += 0 B is exact where B is finite,
 * and takes the tensor cores as long as any. An H20 needs 2 n clocks at 1853 MHz for m64nNk16 (1024 FLOP a clock and
 * SM) and for m64nNk32 of FP8. From ceiling_wgmma_* an instruction takes, at the 1790 MHz that the throttled chip
 * holds, n / 2 clocks from n = 64 on, 16 + n / 4 below it, where reading A from shared memory binds, and 13 to 18 there
 * with A in registers. The zeros are read from shared memory: from registers ptxas gives each instruction four of its
 * own.
 */
#ifndef RIDGE_PTX_EMULATE_CUH
#define RIDGE_PTX_EMULATE_CUH

#include <stdint.h>

#ifndef RIDGE_EMULATE_H20

using wgmma_slice = uint64_t; /* a descriptor on its way from wgmma_descriptor_advance to an instruction */

static __device__ __forceinline__ void emulate_begin() {}

#else

#ifdef RIDGE_PTX_WGMMA_CUH
#error "kernels/ptx/emulate.cuh comes before kernels/ptx/wgmma.cuh"
#endif

#include "kernels/ptx/shared.cuh"
#include "kernels/ptx/wgmma.cuh"

/* Eight rows of 16 bytes, a core matrix (PTX ISA 9.0, 9.7.15.5.1.2) without swizzle; strides of 0 make it all of A. */
static __shared__ uint4 emulate_zeros[8];

static __device__ __forceinline__ void emulate_begin()
{
    if (threadIdx.x < 8)
        st_shared_v4(shared_address(emulate_zeros + threadIdx.x), make_uint4(0, 0, 0, 0));
    fence_proxy_async();
}

/* Knows which of four slices of k it is, for a constant offset at compile time. */
struct wgmma_slice {
    uint64_t value;
    int slice;

    __device__ __forceinline__ operator uint64_t() const
    {
        return value;
    }
};

/* Slices are 32 bytes apart along rows, 16 rows of 128 bytes across them. */
static __device__ __forceinline__ wgmma_slice emulate_advance(uint64_t descriptor, uint32_t bytes)
{
    return {wgmma_descriptor_advance(descriptor, bytes), (int)((bytes >> 5 ^ bytes >> 11) & 3)};
}

/* Extra instructions for every four. */
static __device__ __forceinline__ constexpr int emulate_quarters(int n, bool a_in_registers)
{
    return n <= 8 ? 0 : n <= 16 ? (a_in_registers ? 4 : 2) : n <= 32 ? (a_in_registers ? 7 : 6) : 11;
}

static __device__ __forceinline__ constexpr int emulate_extras(int quarters, int slice)
{
    return quarters * (slice + 1) / 4 - quarters * slice / 4;
}

#define EMULATE_EXTRAS(a_in_registers, instruction)                                                                    \
    _Pragma("unroll") for (int i = 0; i < emulate_extras(emulate_quarters(2 * count, a_in_registers), b.slice); i++)   \
        instruction(d, (uint64_t)(shared_address(emulate_zeros) >> 4), b, 1)

template <int major_a = 0, int major_b = 0, int count>
static __device__ __forceinline__ void emulate_bf16_ss(float (&d)[count], wgmma_slice a, wgmma_slice b, int scale_d)
{
    wgmma_bf16_ss<major_a, major_b>(d, a, b, scale_d);
    EMULATE_EXTRAS(false, (wgmma_bf16_ss<0, major_b>));
}

template <int major_b = 0, int count>
static __device__ __forceinline__ void emulate_bf16_rs(float (&d)[count], const uint32_t (&a)[4], wgmma_slice b,
                                                       int scale_d)
{
    wgmma_bf16_rs<major_b>(d, a, b, scale_d);
    EMULATE_EXTRAS(true, (wgmma_bf16_ss<0, major_b>));
}

template <int count>
static __device__ __forceinline__ void emulate_e4m3_ss(float (&d)[count], wgmma_slice a, wgmma_slice b, int scale_d)
{
    wgmma_e4m3_ss(d, a, b, scale_d);
    EMULATE_EXTRAS(false, wgmma_e4m3_ss);
}

template <int count>
static __device__ __forceinline__ void emulate_e4m3_rs(float (&d)[count], const uint32_t (&a)[4], wgmma_slice b,
                                                       int scale_d)
{
    wgmma_e4m3_rs(d, a, b, scale_d);
    EMULATE_EXTRAS(true, wgmma_e4m3_ss);
}

#undef EMULATE_EXTRAS

#define wgmma_descriptor_advance emulate_advance
#define wgmma_bf16_ss emulate_bf16_ss
#define wgmma_bf16_rs emulate_bf16_rs
#define wgmma_e4m3_ss emulate_e4m3_ss
#define wgmma_e4m3_rs emulate_e4m3_rs

#endif

#endif

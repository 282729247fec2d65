/* SPDX-License-Identifier: Apache-2.0 */
/* wgmma for the element type of the file; the templates of wgmma.cuh. */
#ifndef RIDGE_MLA_DECODE_WGMMA_CUH
#define RIDGE_MLA_DECODE_WGMMA_CUH

#include "kernels/mla_decode/mla_decode_element.cuh"
#include "kernels/ptx/emulate.cuh"
#include "kernels/ptx/wgmma_f16.cuh"

template <int major_a = 0, int major_b = 0, int count>
static __device__ __forceinline__ void mla_wgmma_ss(float (&d)[count], wgmma_slice a, wgmma_slice b, int scale_d)
{
#ifdef MLA_DECODE_F16
    wgmma_f16_ss<major_a, major_b>(d, a, b, scale_d);
#else
    wgmma_bf16_ss<major_a, major_b>(d, a, b, scale_d);
#endif
}

template <int major_b = 0, int count>
static __device__ __forceinline__ void mla_wgmma_rs(float (&d)[count], const uint32_t (&a)[4], wgmma_slice b,
                                                    int scale_d)
{
#ifdef MLA_DECODE_F16
    wgmma_f16_rs<major_b>(d, a, b, scale_d);
#else
    wgmma_bf16_rs<major_b>(d, a, b, scale_d);
#endif
}

#endif

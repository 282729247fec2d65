/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wgmma.cuh for FP16 operands and FP32 sums (PTX ISA 9.0, section 9.7.15.5.2): the same fragments, descriptors and
 * order of calls. n is deduced from the accumulator, one of 16, 32, 64, 256.
 */
#ifndef RIDGE_PTX_WGMMA_F16_CUH
#define RIDGE_PTX_WGMMA_F16_CUH

#include "kernels/ptx/wgmma.cuh"

/* p .. v are the operand numbers after the `count` accumulators. */
#define WGMMA_DEFINE_F16(n, count, p, q, r, s, t, u, v)                                                                \
    template <int major_a = 0, int major_b = 0>                                                                        \
    static __device__ __forceinline__ void wgmma_f16_ss(float(&d)[count], uint64_t a, uint64_t b, int scale_d)         \
    {                                                                                                                  \
        asm volatile("{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate, %" #r ", 0;\n"                                \
                     "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.f16.f16 {" WGMMA_T##count                         \
                     "}, %" #p ", %" #q ", accumulate, 1, 1, %" #s ", %" #t ";\n}"                                     \
                     : WGMMA_D##count                                                                                  \
                     : "l"(a), "l"(b), "r"(scale_d), "n"(major_a), "n"(major_b));                                      \
    }                                                                                                                  \
    template <int major_b = 0>                                                                                         \
    static __device__ __forceinline__ void wgmma_f16_rs(float(&d)[count], const uint32_t(&a)[4], uint64_t b,           \
                                                        int scale_d)                                                   \
    {                                                                                                                  \
        asm volatile("{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate, %" #u ", 0;\n"                                \
                     "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.f16.f16 {" WGMMA_T##count                         \
                     "}, {%" #p ", %" #q ", %" #r ", %" #s "}, %" #t ", accumulate, 1, 1, %" #v ";\n}"                 \
                     : WGMMA_D##count                                                                                  \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(scale_d), "n"(major_b));                \
    }

WGMMA_DEFINE_F16(16, 8, 8, 9, 10, 11, 12, 13, 14)
WGMMA_DEFINE_F16(32, 16, 16, 17, 18, 19, 20, 21, 22)
WGMMA_DEFINE_F16(64, 32, 32, 33, 34, 35, 36, 37, 38)
WGMMA_DEFINE_F16(256, 128, 128, 129, 130, 131, 132, 133, 134)

#undef WGMMA_DEFINE_F16

#endif

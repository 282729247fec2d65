/* SPDX-License-Identifier: Apache-2.0 */
/* FP16 arithmetic on packed pairs, one function per instruction; the first element in the low half. Sections of PTX ISA
 * 9.0. */
#ifndef RIDGE_PTX_HALF_CUH
#define RIDGE_PTX_HALF_CUH

#include <stdint.h>

/* 9.7.4.3 (mul): two products, nearest even, subnormals kept. */
static __device__ __forceinline__ uint32_t mul_f16x2(uint32_t a, uint32_t b)
{
    uint32_t product;
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(product) : "r"(a), "r"(b));
    return product;
}

#endif

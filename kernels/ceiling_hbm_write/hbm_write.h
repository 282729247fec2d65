/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIDGE_HBM_WRITE_H
#define RIDGE_HBM_WRITE_H

#include <stdint.h>

#ifdef __CUDACC__
#define RIDGE_BOTH static __host__ __device__ __forceinline__
#else
#define RIDGE_BOTH static inline
#endif

/* Bits of element i: a float in [1, 2) whose 23 bits of mantissa are those of a multiplicative hash of i. */
RIDGE_BOTH uint32_t hbm_write_bits(uint32_t i)
{
    return i * UINT32_C(2654435761) >> 9 | UINT32_C(0x3f800000);
}

#undef RIDGE_BOTH

/* What a CTA writes: 16 bytes from each of 256 threads, 8 times. */
enum { HBM_BLOCK_BYTES = 32768 };

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIDGE_GEMM_GROUPED_MASKED_H
#define RIDGE_GEMM_GROUPED_MASKED_H

#include <stdint.h>

#ifdef __CUDACC__
#define MASKED_FUNCTION static __host__ __device__ __forceinline__
#else
#define MASKED_FUNCTION static inline
#endif

/* Rows that a group has, of a count that may be anything: none below zero, all above the capacity. */
MASKED_FUNCTION int masked_rows(int32_t valid, int capacity)
{
    return valid < 0 ? 0 : valid > capacity ? capacity : valid;
}

#endif

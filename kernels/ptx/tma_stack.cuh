/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor copies out of a stack of matrices. Sections of PTX ISA 9.0. */
#ifndef RIDGE_PTX_TMA_STACK_CUH
#define RIDGE_PTX_TMA_STACK_CUH

#include <stdint.h>

/* 9.7.9.25.5.2 (cp.async.bulk.tensor): a box of matrix `matrix` of tensor_map_encode_stack to this CTA's shared memory;
 * rows behind the matrix's end are read as zeros, not as the next matrix. */
static __device__ __forceinline__ void tma_load_stack(uint32_t shared, const void *map, int column, int row, int matrix,
                                                      uint32_t barrier)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
                 "[%1, {%2, %3, %4}], [%5];" ::"r"(shared),
                 "l"(map), "r"(column), "r"(row), "r"(matrix), "r"(barrier)
                 : "memory");
}

#endif

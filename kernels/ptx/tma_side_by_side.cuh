/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor copies of several boxes at once, by maps of tensor_map_encode_side_by_side. Sections of PTX ISA 9.0. `box` is
 * the first of them, counted along the columns. */
#ifndef RIDGE_PTX_TMA_SIDE_BY_SIDE_CUH
#define RIDGE_PTX_TMA_SIDE_BY_SIDE_CUH

#include <stdint.h>

/* 9.7.9.25.5.2 with three dimensions. */
static __device__ __forceinline__ void tma_load_side_by_side(uint32_t shared, const void *map, int box, int row,
                                                             uint32_t barrier)
{
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], "
        "[%5];" ::"r"(shared),
        "l"(map), "r"(0), "r"(row), "r"(box), "r"(barrier)
        : "memory");
}

/* The same under a policy of L2. */
static __device__ __forceinline__ void tma_load_side_by_side_hint(uint32_t shared, const void *map, int box, int row,
                                                                  uint32_t barrier, uint64_t policy)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], "
                 "[%1, {%2, %3, %4}], [%5], %6;" ::"r"(shared),
                 "l"(map), "r"(0), "r"(row), "r"(box), "r"(barrier), "l"(policy)
                 : "memory");
}

#endif

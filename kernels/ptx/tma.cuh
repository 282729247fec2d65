/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor copies: boxes of a matrix between global and shared memory, described by a tensor map (tensor_map.h of
 * kernels/support), which the kernel takes as a `const __grid_constant__ CUtensorMap` parameter. Sections of PTX ISA
 * 9.0. `column` and `row` are element coordinates of the box's corner, column along the contiguous dimension; what lies
 * outside the matrix is read as zeros, counted in the bytes of the barrier all the same, and not written. */
#ifndef RIDGE_PTX_TMA_CUH
#define RIDGE_PTX_TMA_CUH

#include <stdint.h>

/* 9.7.9.15 (prefetch.tensormap). */
static __device__ __forceinline__ void tma_prefetch_map(const void *map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/* 9.7.9.25.5.2 (cp.async.bulk.tensor): a box to this CTA's shared memory; its bytes count on `barrier`. */
static __device__ __forceinline__ void tma_load(uint32_t shared, const void *map, int column, int row, uint32_t barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
                 "[%4];" ::"r"(shared),
                 "l"(map), "r"(column), "r"(row), "r"(barrier)
                 : "memory");
}

/* 9.7.9.18 (createpolicy): lines that are read once make room for each other in L2, and others stay. */
static __device__ __forceinline__ uint64_t l2_evict_first()
{
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

/* tma_load under a policy of L2. */
static __device__ __forceinline__ void tma_load_hint(uint32_t shared, const void *map, int column, int row,
                                                     uint32_t barrier, uint64_t policy)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], "
                 "[%1, {%2, %3}], [%4], %5;" ::"r"(shared),
                 "l"(map), "r"(column), "r"(row), "r"(barrier), "l"(policy)
                 : "memory");
}

/* The same to the CTAs of the cluster whose rank's bit is set in `ctas`: to the same offset in each, counting on the
 * barrier at the same offset in each. */
static __device__ __forceinline__ void tma_load_multicast(uint32_t shared, const void *map, int column, int row,
                                                          uint32_t barrier, uint16_t ctas)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
                 "[%1, {%2, %3}], [%4], %5;" ::"r"(shared),
                 "l"(map), "r"(column), "r"(row), "r"(barrier), "h"(ctas)
                 : "memory");
}

/* 9.7.9.25.5.2 with five dimensions, corner (column, 0, 0, 0, group): boxes of tensor_map_encode_grouped. */
static __device__ __forceinline__ void tma_load_grouped(uint32_t shared, const void *map, int column, int group,
                                                        uint32_t barrier)
{
    asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
                 "[%1, {%2, %3, %3, %3, %4}], [%5];" ::"r"(shared),
                 "l"(map), "r"(column), "r"(0), "r"(group), "r"(barrier)
                 : "memory");
}

static __device__ __forceinline__ void tma_load_grouped_multicast(uint32_t shared, const void *map, int column,
                                                                  int group, uint32_t barrier, uint16_t ctas)
{
    asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
                 "[%1, {%2, %3, %3, %3, %4}], [%5], %6;" ::"r"(shared),
                 "l"(map), "r"(column), "r"(0), "r"(group), "r"(barrier), "h"(ctas)
                 : "memory");
}

/* The way back; completes in this thread's bulk group (bulk_commit, bulk_wait_read of async.cuh). */
static __device__ __forceinline__ void tma_store(const void *map, int column, int row, uint32_t shared)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(column),
                 "r"(row), "r"(shared)
                 : "memory");
}

/* 9.7.9.25.5.3 (cp.reduce.async.bulk.tensor): the same, added to what lies there (FP32 maps round to nearest), in
 * matrix `matrix` of a stack of them (tensor_map_encode_stack). */
static __device__ __forceinline__ void tma_reduce_add(const void *map, int column, int row, int matrix, uint32_t shared)
{
    asm volatile("cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(map),
                 "r"(column), "r"(row), "r"(matrix), "r"(shared)
                 : "memory");
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensor maps changed on the device. Sections of PTX ISA 9.0. A copy of a map in shared memory (128 bytes, 128-byte
 * aligned) is edited by one thread, then a warp copies it to global memory and releases it to the tensor map proxy; a
 * thread that loads through it acquires it there first:
 *
 *   tensor_map_set_*(shared, ...)      one thread; __syncwarp() before and after
 *   tensor_map_release(map, shared)    the whole warp
 *   tensor_map_acquire(map)            the thread that loads
 */
#ifndef RIDGE_PTX_TENSOR_MAP_CUH
#define RIDGE_PTX_TENSOR_MAP_CUH

#include <stdint.h>

/* 9.7.9 (tensormap.replace), sm_90a. */
static __device__ __forceinline__ void tensor_map_set_address(uint32_t shared, const void *address)
{
    asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(shared), "l"(address)
                 : "memory");
}

/* Elements of a row. */
static __device__ __forceinline__ void tensor_map_set_columns(uint32_t shared, uint32_t columns)
{
    asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 0, %1;" ::"r"(shared), "r"(columns)
                 : "memory");
}

/* Bytes from row to row (before PTX ISA 8.5 a sixteenth of them). */
static __device__ __forceinline__ void tensor_map_set_pitch(uint32_t shared, uint64_t bytes)
{
    asm volatile("tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%0], 0, %1;" ::"r"(shared), "l"(bytes)
                 : "memory");
}

/* 9.7.13 (tensormap.cp_fenceproxy). */
static __device__ __forceinline__ void tensor_map_release(void *map, uint32_t shared)
{
    asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], "
                 "128;" ::"l"(map),
                 "r"(shared)
                 : "memory");
}

/* 9.7.13.4 (fence.proxy.tensormap). */
static __device__ __forceinline__ void tensor_map_acquire(const void *map)
{
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Loads that a predicate turns off, for rows that may not be there. Sections of PTX ISA 9.0. */
#ifndef RIDGE_PTX_GATHER_CUH
#define RIDGE_PTX_GATHER_CUH

#include <stdint.h>

/* 9.7.9.9 (ld.global.nc): 16 bytes of read-only data; zeros, and no access, where `there` is not. No hint that
 * they are used once: with L1::no_allocate lines that are loaded in two parts were fetched twice, and from memory. */
static __device__ __forceinline__ uint4 ld_global_v4_if(bool there, const void *pointer)
{
    uint4 v;
    asm volatile("{\n"
                 ".reg .pred there;\n"
                 "setp.ne.b32 there, %5, 0;\n"
                 "mov.b32 %0, 0;\n"
                 "mov.b32 %1, 0;\n"
                 "mov.b32 %2, 0;\n"
                 "mov.b32 %3, 0;\n"
                 "@there ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];\n"
                 "}"
                 : "=&r"(v.x), "=&r"(v.y), "=&r"(v.z), "=&r"(v.w)
                 : "l"(pointer), "r"((int)there));
    return v;
}

/* 9.7.9.8 (ld): 4 bytes, `otherwise` where they are not there. No .nc, which ptxas would move across a fence. */
static __device__ __forceinline__ int32_t ld_global_s32_if(bool there, const int32_t *pointer, int32_t otherwise)
{
    int32_t v;
    asm volatile("{\n"
                 ".reg .pred there;\n"
                 "setp.ne.b32 there, %2, 0;\n"
                 "mov.b32 %0, %3;\n"
                 "@there ld.global.s32 %0, [%1];\n"
                 "}"
                 : "=&r"(v)
                 : "l"(pointer), "r"((int)there), "r"(otherwise)
                 : "memory");
    return v;
}

/* 9.7.9.25.3.1 (cp.async): 4 bytes to shared memory, both addresses 4-byte aligned; zeros, and no access, where `there`
 * is not. */
static __device__ __forceinline__ void cp_async_4_if(bool there, uint32_t shared, const void *global)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared), "l"(global), "r"(there ? 4 : 0)
                 : "memory");
}

#endif

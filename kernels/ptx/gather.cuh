/* SPDX-License-Identifier: Apache-2.0 */
/* Loads that a predicate turns off, for rows that may not be there. Sections of PTX ISA 9.0. */
#ifndef RIDGE_PTX_GATHER_CUH
#define RIDGE_PTX_GATHER_CUH

#include <stdint.h>

/* 9.7.9.9 (ld.global.nc): 16 bytes of read-only data that is used once; zeros, and no access, where `there` is not. */
static __device__ __forceinline__ uint4 ld_global_stream_v4_if(bool there, const void *pointer)
{
    uint4 v;
    asm volatile("{\n"
                 ".reg .pred there;\n"
                 "setp.ne.b32 there, %5, 0;\n"
                 "mov.b32 %0, 0;\n"
                 "mov.b32 %1, 0;\n"
                 "mov.b32 %2, 0;\n"
                 "mov.b32 %3, 0;\n"
                 "@there ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];\n"
                 "}"
                 : "=&r"(v.x), "=&r"(v.y), "=&r"(v.z), "=&r"(v.w)
                 : "l"(pointer), "r"((int)there));
    return v;
}

#endif

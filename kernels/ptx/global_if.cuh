/* SPDX-License-Identifier: Apache-2.0 */
/* Stores to global memory under a predicate. PTX ISA 9.0, section 9.7.9.11 (st); 9.3 (predicated execution). An
 * ordinary `if` may become a branch, behind which the compiler no longer knows that the lanes of a warp are together.
 * Addresses are aligned to what is stored. */
#ifndef RIDGE_PTX_GLOBAL_IF_CUH
#define RIDGE_PTX_GLOBAL_IF_CUH

#include <stdint.h>

static __device__ __forceinline__ void st_global_v4_if(bool stored, void *pointer, const uint32_t (&v)[4])
{
    asm volatile("{\n.reg .pred stored;\n"
                 "setp.ne.b32 stored, %0, 0;\n"
                 "@stored st.global.v4.b32 [%1], {%2, %3, %4, %5};\n}" ::"r"((int)stored),
                 "l"(pointer), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3])
                 : "memory");
}

static __device__ __forceinline__ void st_global_v2_if(bool stored, void *pointer, const uint32_t (&v)[2])
{
    asm volatile("{\n.reg .pred stored;\n"
                 "setp.ne.b32 stored, %0, 0;\n"
                 "@stored st.global.v2.b32 [%1], {%2, %3};\n}" ::"r"((int)stored),
                 "l"(pointer), "r"(v[0]), "r"(v[1])
                 : "memory");
}

#endif

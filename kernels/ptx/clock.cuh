/* SPDX-License-Identifier: Apache-2.0 */
/* Special registers: PTX ISA 9.0, section 10. */
#ifndef RIDGE_PTX_CLOCK_CUH
#define RIDGE_PTX_CLOCK_CUH

#include <stdint.h>

/* Cycles of this SM's clock. */
static __device__ __forceinline__ uint64_t clock_cycles()
{
    uint64_t cycles;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles)::"memory");
    return cycles;
}

/* Nanoseconds of a clock common to all SMs; its steps are device-dependent, 32 ns to 1 us. */
static __device__ __forceinline__ uint64_t global_timer_ns()
{
    uint64_t ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
    return ns;
}

/* The SM this thread runs on now. */
static __device__ __forceinline__ uint32_t sm_id()
{
    uint32_t id;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
    return id;
}

#endif

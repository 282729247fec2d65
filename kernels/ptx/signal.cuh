/* SPDX-License-Identifier: Apache-2.0 */
/* Counters in global memory by which CTAs tell each other that something is done. Sections of PTX ISA 9.0.
 * Release and acquire are all that takes; __threadfence() is a sequentially consistent fence, which takes longer. */
#ifndef RIDGE_PTX_SIGNAL_CUH
#define RIDGE_PTX_SIGNAL_CUH

/* 9.7.13.6 (red): one more, after all that this thread has seen done; after `last` comes 0. */
static __device__ __forceinline__ void signal_count(unsigned *counter, unsigned last)
{
    asm volatile("red.release.gpu.global.inc.u32 [%0], %1;" ::"l"(counter), "r"(last) : "memory");
}

/* The same by a thread that has done nothing others wait for. */
static __device__ __forceinline__ void signal_count_relaxed(unsigned *counter, unsigned last)
{
    asm volatile("red.relaxed.gpu.global.inc.u32 [%0], %1;" ::"l"(counter), "r"(last) : "memory");
}

/* 9.7.9.8 (ld): what others did before they counted is seen after. */
static __device__ __forceinline__ unsigned signal_counted(const unsigned *counter)
{
    unsigned count;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(count) : "l"(counter) : "memory");
    return count;
}

#endif

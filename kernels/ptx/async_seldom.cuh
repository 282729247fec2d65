/* SPDX-License-Identifier: Apache-2.0 */
/* A wait for an mbarrier by a thread that has time. Sections of PTX ISA 9.0. */
#ifndef RIDGE_PTX_ASYNC_SELDOM_CUH
#define RIDGE_PTX_ASYNC_SELDOM_CUH

#include <stdint.h>

/* 9.7.13.15.16 (mbarrier.test_wait), 9.7.21.1 (nanosleep): returns when the phase of parity `parity` has completed, as
 * mbarrier_wait, but looks once in a microsecond: a thread that spins takes issue slots. */
static __device__ __forceinline__ void mbarrier_wait_seldom(uint32_t barrier, uint32_t parity)
{
    while (true) {
        uint32_t done;
        asm volatile("{\n"
                     ".reg .pred done;\n"
                     "mbarrier.test_wait.parity.shared::cta.b64 done, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, done;\n"
                     "}"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
        if (done)
            return;
        __nanosleep(1000);
    }
}

#endif

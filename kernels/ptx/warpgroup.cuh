/* SPDX-License-Identifier: Apache-2.0 */
/* What warp-specialised kernels need beside wgmma and copies: registers of a role, barriers of some warps, arrivals in
 * another CTA. Sections of PTX ISA 9.0. */
#ifndef RIDGE_PTX_WARPGROUP_CUH
#define RIDGE_PTX_WARPGROUP_CUH

#include <stdint.h>

/* 9.7.19.5 (setmaxnreg): a multiple of 8 from 24 to 256, by all warps of a warpgroup. The kernel needs a register cap
 * at entry, __launch_bounds__(threads, 1); the sum over the warpgroups must fit the register file. */
template <int registers> static __device__ __forceinline__ void registers_give()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}

template <int registers> static __device__ __forceinline__ void registers_take()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}

/* 10 (special registers): threadIdx.x, read at every call, for code that has no register left to keep it in. */
static __device__ __forceinline__ uint32_t thread_again()
{
    uint32_t thread;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    return thread;
}

/* 9.7.13.14 (elect.sync): true in one thread of the warp, the same every time. All of it calls. */
static __device__ __forceinline__ bool elect()
{
    uint32_t elected;
    asm volatile("{\n"
                 ".reg .pred one;\n"
                 "elect.sync _|one, 0xffffffff;\n"
                 "selp.u32 %0, 1, 0, one;\n"
                 "}"
                 : "=r"(elected));
    return elected;
}

/* 9.7.13.1 (barrier): `threads` threads, whole warps, meet at barrier `id` (1 to 15; 0 is __syncthreads). */
static __device__ __forceinline__ void named_sync(int id, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/* The same, and whether `value` holds in any of the threads. */
static __device__ __forceinline__ bool named_any(int id, int threads, bool value)
{
    uint32_t any;
    asm volatile("{\n\t.reg .pred mine, all;\n\t"
                 "setp.ne.u32 mine, %3, 0;\n\t"
                 "bar.red.or.pred all, %1, %2, mine;\n\t"
                 "selp.u32 %0, 1, 0, all;\n\t}"
                 : "=r"(any)
                 : "r"(id), "r"(threads), "r"((uint32_t)value)
                 : "memory");
    return any != 0;
}

/* named_sync without waiting. */
static __device__ __forceinline__ void named_arrive(int id, int threads)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/* 9.7.13.15.13 (mbarrier.arrive) on the barrier at `barrier`'s place in CTA `rank` of the cluster. It says that wgmma
 * has read a stage, and wgmma_wait orders that: a release at cluster scope would add MEMBAR.ALL.GPU to every stage,
 * which waits for all stores of the warp. */
static __device__ __forceinline__ void mbarrier_arrive_at(uint32_t barrier, uint32_t rank)
{
    asm volatile("{\n"
                 ".reg .b32 remote;\n"
                 "mapa.shared::cluster.u32 remote, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
                 "}" ::"r"(barrier),
                 "r"(rank)
                 : "memory");
}

#endif

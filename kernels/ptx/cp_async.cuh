/* SPDX-License-Identifier: Apache-2.0 */
/* Non-bulk asynchronous copies, global to shared memory. PTX ISA 9.7.9.25.3, "cp.async". */
#ifndef RIDGE_PTX_CP_ASYNC_CUH
#define RIDGE_PTX_CP_ASYNC_CUH

/* Copies 16 bytes past L1, both addresses 16-byte aligned; of the 16 the last 16 - valid_bytes are zeros. With 0 valid
 * bytes src is not read. */
static __device__ __forceinline__ void cp_async_16(void *smem, const void *src, int valid_bytes)
{
    const unsigned dst = (unsigned)__cvta_generic_to_shared(smem);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(dst), "l"(src), "r"(valid_bytes) : "memory");
}

static __device__ __forceinline__ void cp_async_4(void *smem, const void *src, int valid_bytes)
{
    const unsigned dst = (unsigned)__cvta_generic_to_shared(smem);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(dst), "l"(src), "r"(valid_bytes) : "memory");
}

static __device__ __forceinline__ void cp_async_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits until at most `pending` of this thread's groups are under way. */
template <int pending> static __device__ __forceinline__ void cp_async_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

#endif

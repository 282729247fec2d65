/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Warpgroup matrix multiply-accumulate of sm_90a, one function per instruction form.
 * PTX ISA 9.0, section 9.7.15, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions".
 *
 *   wgmma_bf16_ss(d, a, b, scale_d)   D[64,n] = A[64,16] B[16,n] + (scale_d ? D : 0)   A and B in shared memory
 *   wgmma_bf16_rs(d, a, b, scale_d)   the same with A in registers
 *   wgmma_e4m3_ss, wgmma_e4m3_rs      k = 32
 *
 * n is deduced from the accumulator: `float d[n / 2]`, n one of 8, 16, 32, 64, 96, 128, 144, 176, 192, 256. All 128 threads of a
 * warpgroup (4 warps, the first a multiple of 4) call together. Fragments (section 9.7.15.5.1), for thread t of the
 * warpgroup with warp = t / 32, lane = t % 32:
 *
 *   d[4 j + 2 h + e]  is D[16 warp + lane / 4 + 8 h][8 j + 2 (lane % 4) + e]      see wgmma_row, wgmma_column
 *   a[2 c + h]        is A[16 warp + lane / 4 + 8 h][16-byte chunk c, bytes 4 (lane % 4) to + 3]
 *
 * Order of a product: wgmma_fence(), the wgmma_* calls, wgmma_commit(), wgmma_wait<0>(). Accumulators may be read, and
 * registers of A rewritten, only after the wait; shared memory written by ordinary stores needs fence_proxy_async()
 * in the writing threads and a barrier before the first wgmma that reads it.
 */
#ifndef RIDGE_PTX_WGMMA_CUH
#define RIDGE_PTX_WGMMA_CUH

#include <stdint.h>

/* 9.7.15.7.1: orders earlier register accesses before the wgmmas that follow. */
static __device__ __forceinline__ void wgmma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

/* 9.7.15.7.2: closes a group of the wgmmas issued since the last commit. */
static __device__ __forceinline__ void wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/* 9.7.15.7.3: waits until at most `pending` of the latest groups are unfinished. Like the others for whole warpgroups:
 * behind a condition on which warps differ it is undefined, so warps vote first (named_any). */
template <int pending> static __device__ __forceinline__ void wgmma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

/* After the wait: accumulators that are read while other groups are in flight. The compiler sees the wait as unrelated to
 * the registers and would otherwise move their uses above it. */
template <int count> static __device__ __forceinline__ void wgmma_settle(float (&d)[count])
{
#pragma unroll
    for (int i = 0; i < count; i++)
        asm volatile("" : "+f"(d[i])::"memory");
}

/* Row and column of accumulator register i in the [64, n] tile. */
static __device__ __forceinline__ int wgmma_row(int thread, int i)
{
    return thread / 32 % 4 * 16 + thread % 32 / 4 + i / 2 % 2 * 8;
}

static __device__ __forceinline__ int wgmma_column(int thread, int i)
{
    return i / 4 * 8 + thread % 4 * 2 + i % 2;
}

/*
 * Shared-memory matrix descriptor (9.7.15.5.1.2.2) for the 128-byte swizzle.
 * bits 0-13 address / 16, 16-29 leading byte offset / 16, 32-45 stride byte offset / 16, 49-51 base offset,
 * 62-63 swizzle mode (1: 128 bytes).
 *
 * K-major (rows of A or B along k): the tile is a stack of atoms of 8 rows x 128 bytes; the atom at a multiple of
 * 1024 bytes, so the base offset is 0. Byte b of row r lies at swizzle_128(r, b). stride_bytes is the distance
 * between atoms of consecutive row groups (1024 when they are stacked without gaps); the leading offset is not used.
 * Inside the 128 bytes, the next k-slice of 32 bytes (16 BF16, 32 e4m3) is wgmma_descriptor_advance(d, 32).
 * MN-major (major = 1 in wgmma_bf16_*): rows run along m or n, 64 elements each; one atom is 8 of k;
 * leading_bytes is the distance between atoms along m or n, stride_bytes between atoms along k.
 */
static __device__ __forceinline__ uint64_t wgmma_descriptor_128(uint32_t shared_address, uint32_t stride_bytes = 1024,
                                                                uint32_t leading_bytes = 16)
{
    return (uint64_t)(shared_address >> 4 & 0x3fff) | (uint64_t)(leading_bytes >> 4 & 0x3fff) << 16 |
           (uint64_t)(stride_bytes >> 4 & 0x3fff) << 32 | (uint64_t)1 << 62;
}

/* Moves a descriptor by a multiple of 16 bytes; the address must stay below 256 KB, as all shared memory does. */
static __device__ __forceinline__ uint64_t wgmma_descriptor_advance(uint64_t descriptor, uint32_t bytes)
{
    return descriptor + (bytes >> 4);
}

/* Offset of byte `byte` (below 128) of row `row` in a K-major tile of 128-byte rows: the 16-byte chunk is exchanged
 * by the row's number in its group of eight. */
static __host__ __device__ __forceinline__ uint32_t swizzle_128(uint32_t row, uint32_t byte)
{
    return row * 128 + (byte ^ (row & 7) << 4);
}

/* Operand lists: WGMMA_T<count> is the text of the first <count> operands, WGMMA_D<count> binds them to d. */
#define WGMMA_T4 "%0, %1, %2, %3"
#define WGMMA_T8 WGMMA_T4 ", %4, %5, %6, %7"
#define WGMMA_T16 WGMMA_T8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define WGMMA_T32 WGMMA_T16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define WGMMA_T48 WGMMA_T32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define WGMMA_T64 WGMMA_T48 ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define WGMMA_T72 WGMMA_T64 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define WGMMA_T80 WGMMA_T64 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define WGMMA_T88 WGMMA_T80 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define WGMMA_T96 WGMMA_T80 ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define WGMMA_T112                                                                                                     \
    WGMMA_T96 ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111"
#define WGMMA_T128                                                                                                     \
    WGMMA_T112 ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

#define WGMMA_D4_AT(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define WGMMA_D16_AT(i) WGMMA_D4_AT(i), WGMMA_D4_AT(i + 4), WGMMA_D4_AT(i + 8), WGMMA_D4_AT(i + 12)
#define WGMMA_D4 WGMMA_D4_AT(0)
#define WGMMA_D8 WGMMA_D4, WGMMA_D4_AT(4)
#define WGMMA_D16 WGMMA_D16_AT(0)
#define WGMMA_D32 WGMMA_D16, WGMMA_D16_AT(16)
#define WGMMA_D48 WGMMA_D32, WGMMA_D16_AT(32)
#define WGMMA_D64 WGMMA_D48, WGMMA_D16_AT(48)
#define WGMMA_D72 WGMMA_D64, WGMMA_D4_AT(64), WGMMA_D4_AT(68)
#define WGMMA_D88 WGMMA_D64, WGMMA_D16_AT(64), WGMMA_D4_AT(80), WGMMA_D4_AT(84)
#define WGMMA_D96 WGMMA_D64, WGMMA_D16_AT(64), WGMMA_D16_AT(80)
#define WGMMA_D128 WGMMA_D96, WGMMA_D16_AT(96), WGMMA_D16_AT(112)

/* 9.7.15.5.2. p .. v are the operand numbers after the `count` accumulators. Scale factors of A and B are 1. BF16 takes
 * the major-ness of operands in shared memory (0 K-major, 1 MN-major); e4m3 is always K-major. */
#define WGMMA_PREDICATE(scale) "{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate, %" #scale ", 0;\n"

#define WGMMA_DEFINE(n, count, p, q, r, s, t, u, v)                                                                    \
    template <int major_a = 0, int major_b = 0>                                                                        \
    static __device__ __forceinline__ void wgmma_bf16_ss(float(&d)[count], uint64_t a, uint64_t b, int scale_d)        \
    {                                                                                                                  \
        asm volatile(WGMMA_PREDICATE(r) "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.bf16.bf16 {" WGMMA_T##count    \
                     "}, %" #p ", %" #q ", accumulate, 1, 1, %" #s ", %" #t ";\n}"                                     \
                     : WGMMA_D##count                                                                                  \
                     : "l"(a), "l"(b), "r"(scale_d), "n"(major_a), "n"(major_b));                                      \
    }                                                                                                                  \
    template <int major_b = 0>                                                                                         \
    static __device__ __forceinline__ void wgmma_bf16_rs(float(&d)[count], const uint32_t(&a)[4], uint64_t b,          \
                                                         int scale_d)                                                  \
    {                                                                                                                  \
        asm volatile(WGMMA_PREDICATE(u) "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.bf16.bf16 {" WGMMA_T##count    \
                     "}, {%" #p ", %" #q ", %" #r ", %" #s "}, %" #t ", accumulate, 1, 1, %" #v ";\n}"                 \
                     : WGMMA_D##count                                                                                  \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(scale_d), "n"(major_b));                \
    }                                                                                                                  \
    static __device__ __forceinline__ void wgmma_e4m3_ss(float(&d)[count], uint64_t a, uint64_t b, int scale_d)        \
    {                                                                                                                  \
        asm volatile(WGMMA_PREDICATE(r) "wgmma.mma_async.sync.aligned.m64n" #n "k32.f32.e4m3.e4m3 {" WGMMA_T##count    \
                     "}, %" #p ", %" #q ", accumulate, 1, 1;\n}"                                                       \
                     : WGMMA_D##count                                                                                  \
                     : "l"(a), "l"(b), "r"(scale_d));                                                                  \
    }                                                                                                                  \
    static __device__ __forceinline__ void wgmma_e4m3_rs(float(&d)[count], const uint32_t(&a)[4], uint64_t b,          \
                                                         int scale_d)                                                  \
    {                                                                                                                  \
        asm volatile(WGMMA_PREDICATE(u) "wgmma.mma_async.sync.aligned.m64n" #n "k32.f32.e4m3.e4m3 {" WGMMA_T##count    \
                     "}, {%" #p ", %" #q ", %" #r ", %" #s "}, %" #t ", accumulate, 1, 1;\n}"                          \
                     : WGMMA_D##count                                                                                  \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(scale_d));                              \
    }

WGMMA_DEFINE(8, 4, 4, 5, 6, 7, 8, 9, 10)
WGMMA_DEFINE(16, 8, 8, 9, 10, 11, 12, 13, 14)
WGMMA_DEFINE(32, 16, 16, 17, 18, 19, 20, 21, 22)
WGMMA_DEFINE(64, 32, 32, 33, 34, 35, 36, 37, 38)
WGMMA_DEFINE(96, 48, 48, 49, 50, 51, 52, 53, 54)
WGMMA_DEFINE(128, 64, 64, 65, 66, 67, 68, 69, 70)
WGMMA_DEFINE(144, 72, 72, 73, 74, 75, 76, 77, 78)
WGMMA_DEFINE(176, 88, 88, 89, 90, 91, 92, 93, 94)
WGMMA_DEFINE(192, 96, 96, 97, 98, 99, 100, 101, 102)
WGMMA_DEFINE(256, 128, 128, 129, 130, 131, 132, 133, 134)

#undef WGMMA_DEFINE
#undef WGMMA_PREDICATE

#endif

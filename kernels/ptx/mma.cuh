/* SPDX-License-Identifier: Apache-2.0 */
/* Warp-level matrix products and the moves of their fragments. Sections of PTX ISA 9.0. An 8 x 8 matrix of 16-bit
 * elements lies in a warp with row lane / 4, columns 2 (lane % 4) and the next in one register of each lane; in shared
 * memory it is eight rows of 16 bytes, each at an address of its own. Lane 8 i + r gives the address of row r of
 * matrix i. */
#ifndef RIDGE_PTX_MMA_CUH
#define RIDGE_PTX_MMA_CUH

#include <stdint.h>

/* 9.7.14.5.15 (ldmatrix): four matrices. */
static __device__ __forceinline__ void ldmatrix_x4(uint32_t (&matrix)[4], uint32_t row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(matrix[0]), "=r"(matrix[1]), "=r"(matrix[2]), "=r"(matrix[3])
                 : "r"(row));
}

/* 9.7.14.5.16 (stmatrix), sm_90. */
static __device__ __forceinline__ void stmatrix_x4(uint32_t row, uint32_t m0, uint32_t m1, uint32_t m2, uint32_t m3)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row), "r"(m0), "r"(m1),
                 "r"(m2), "r"(m3)
                 : "memory");
}

static __device__ __forceinline__ void stmatrix_x2(uint32_t row, uint32_t m0, uint32_t m1)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(row), "r"(m0), "r"(m1) : "memory");
}

/* Each matrix is transposed on the way: the rows in shared memory are the columns of the fragments. */
static __device__ __forceinline__ void stmatrix_trans_x4(uint32_t row, uint32_t m0, uint32_t m1, uint32_t m2,
                                                         uint32_t m3)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row), "r"(m0), "r"(m1),
                 "r"(m2), "r"(m3)
                 : "memory");
}

static __device__ __forceinline__ void stmatrix_trans_x2(uint32_t row, uint32_t m0, uint32_t m1)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(row), "r"(m0), "r"(m1)
                 : "memory");
}

/* 9.7.14.5.14 (mma), sm_80: D[16,8] += A[16,16] B[8,16]^T, BF16 with FP32 accumulation. a: the matrices (rows 0-7, k
 * 0-7), (rows 8-15, k 0-7), (rows 0-7, k 8-15), (rows 8-15, k 8-15); b0, b1: k 0-7 and 8-15 of the eight rows of B; d[2
 * h + e] is D[lane / 4 + 8 h][2 (lane % 4) + e]. */
static __device__ __forceinline__ void mma_bf16(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

#endif

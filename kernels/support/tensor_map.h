/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor maps, which describe a matrix in global memory to the tensor copy engine (kernels/ptx/tma.cuh). Made on the
 * host in setup; they hold the matrix's address. */
#ifndef RIDGE_SUPPORT_TENSOR_MAP_H
#define RIDGE_SUPPORT_TENSOR_MAP_H

#include "kernels/kernel.h"

#include <cuda.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A row-major matrix, `pitch` elements from row to row, moved in boxes. In shared memory a box is box_rows rows of
 * box_columns elements without gaps, each 16-byte chunk exchanged as the swizzle says. */
struct tensor_map_matrix {
    enum ridge_dtype dtype; /* BF16, F16, F32 or E4M3 */
    const void *address;    /* 16-byte aligned */
    int64_t rows, columns;  /* below 2^32 */
    int64_t pitch;          /* elements; pitch bytes are a multiple of 16 and below 2^40 */
    int box_rows;           /* at most 256 */
    int box_columns;        /* at most 256; a multiple of 16 bytes, with a swizzle at most swizzle_bytes */
    int swizzle_bytes;      /* 0 none, 32, 64 or 128: the box then starts at a multiple of 8 x this in shared memory */
    const char *name;       /* for messages; NULL: "matrix" */
    bool exact;             /* L2 fetches no more than the box: for rows that no other box touches soon */
};

/* 0, or nonzero with call->error naming matrix, value and rule. Needs a driver, found through the runtime. */
int tensor_map_encode(const struct ridge_call *call, const struct tensor_map_matrix *matrix, CUtensorMap *map);

/* The same with the rows of every `group` (16 or 32; rows and box_rows are multiples) in another order in shared
 * memory: row 8 t + 2 q + e (q < 4, e < 2) holds the group's row (group / 4) q + 2 t + e. As B of a wgmma, thread q of
 * four then has group / 4 columns of D side by side. Loaded by tma_load_grouped. */
int tensor_map_encode_grouped(const struct ridge_call *call, const struct tensor_map_matrix *matrix, int group,
                              CUtensorMap *map);

/* A stack of `count` such matrices without gaps, in boxes of one matrix: what lies outside a matrix is not the next. */
int tensor_map_encode_stack(const struct ridge_call *call, const struct tensor_map_matrix *matrix, int64_t count,
                            CUtensorMap *map);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Micro-kernels of gemm_f32_h03_blocked, one an instruction set. */
#ifndef RIDGE_GEMM_F32_BLOCKED_H
#define RIDGE_GEMM_F32_BLOCKED_H

#include "kernels/kernel.h"

struct blocked_isa {
    const char *name;      /* "avx512f 12x32": instruction set and tile of D held in registers */
    int64_t rows, columns; /* that tile */
    bool (*supported)(void);
    /* tile[rows][columns] = sum over `depth` of a[i][row] * b[i][column], packed operands. */
    void (*multiply)(int64_t depth, const float *a, const float *b, float *tile, int64_t stride, bool add);
};

/* Best first; the last is always supported. */
extern const struct blocked_isa blocked_isas[];
extern const int blocked_isa_count;

size_t blocked_workspace_bytes(const struct blocked_isa *isa, const int64_t *dim);
void blocked_gemm(const struct blocked_isa *isa, const int64_t *dim, const float *a, const float *b, float *d,
                  void *workspace);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of random inputs: group g has the rows from g m / groups on, of which the first `rows` are its own and the
 * others padding. */
#ifndef RIDGE_GEMM_GROUPED_CONTIGUOUS_H
#define RIDGE_GEMM_GROUPED_CONTIGUOUS_H

#include "kernels/gemm_grouped_contiguous/gemm_grouped.h"

static inline int64_t contiguous_start(const int64_t *dim, int64_t group)
{
    return group * dim[GROUPED_M] / dim[GROUPED_GROUPS];
}

/* Passes over row tiles of `rows` rows: one for each group that a tile has rows of. */
static inline int64_t contiguous_passes(const int64_t *dim, int64_t rows)
{
    int64_t passes = 0;
    for (int64_t group = 0; group < dim[GROUPED_GROUPS]; group++) {
        const int64_t first = contiguous_start(dim, group), last = first + dim[GROUPED_ROWS] - 1;
        passes += last / rows - first / rows + 1;
    }
    return passes;
}

#endif

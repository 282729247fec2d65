/* SPDX-License-Identifier: Apache-2.0 */
/* Axes and buffers of the grouped families. */
#ifndef RIDGE_GEMM_GROUPED_H
#define RIDGE_GEMM_GROUPED_H

#include "kernels/gemm_fp8_block/gemm_fp8_block.h"

enum { GROUPED_GROUPS, GROUPED_ROWS, GROUPED_M, GROUPED_N, GROUPED_K };
enum { GROUPED_A, GROUPED_B, GROUPED_SCALE_A, GROUPED_SCALE_B, GROUPED_INDEX, GROUPED_D };
enum { GROUPED_NAN_E4M3 = 0x7f };

/* For setup: nonzero, with call->error, where a tensor of scales has too few rows for the shape. by_group: scale_a of a
 * group lies behind that of the group before. */
static inline int gemm_grouped_scales_refused(const struct ridge_call *call, bool by_group)
{
    const int64_t *dim = call->dim, groups = dim[GROUPED_GROUPS];
    const int64_t blocks = gemm_fp8_block_count(dim[GROUPED_K]);
    const struct {
        const char *name;
        int buffer;
        int64_t rows, columns;
    } scale[] = {
        {"scale_a", GROUPED_SCALE_A, by_group ? groups * blocks : blocks, gemm_fp8_block_pitch_a(dim[GROUPED_M])},
        {"scale_b", GROUPED_SCALE_B, groups * gemm_fp8_block_count(dim[GROUPED_N]), blocks}};
    for (int i = 0; i < 2 && call->buffer_bytes; i++) {
        const int64_t rows = (int64_t)(call->buffer_bytes[scale[i].buffer] / sizeof(float)) / scale[i].columns;
        if (rows >= scale[i].rows)
            continue;
        snprintf(call->error, call->error_bytes,
                 "%s: %lld rows of %lld scales, but groups=%lld, n=%lld, k=%lld need %lld, one for each 128 of %s%s",
                 scale[i].name, (long long)rows, (long long)scale[i].columns, (long long)groups,
                 (long long)dim[GROUPED_N], (long long)dim[GROUPED_K], (long long)scale[i].rows, i ? "n" : "k",
                 i || by_group ? " and group" : "");
        return 1;
    }
    return 0;
}

#endif

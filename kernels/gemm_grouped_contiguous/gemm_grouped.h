/* SPDX-License-Identifier: Apache-2.0 */
/* Axes and buffers of the grouped families. */
#ifndef RIDGE_GEMM_GROUPED_H
#define RIDGE_GEMM_GROUPED_H

#include "kernels/gemm_fp8_block/gemm_fp8_block.h"

enum { GROUPED_GROUPS, GROUPED_ROWS, GROUPED_M, GROUPED_N, GROUPED_K };
enum { GROUPED_A, GROUPED_B, GROUPED_SCALE_A, GROUPED_SCALE_B, GROUPED_INDEX, GROUPED_D };
enum { GROUPED_NAN_E4M3 = 0x7f };

#endif

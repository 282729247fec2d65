/* SPDX-License-Identifier: Apache-2.0 */
/* The machine code of a variant that includes this keeps a factor from one FFMA to the next: the build changes hints
 * that ptxas chooses and CUDA C has no word for (cmake/keep_operands.c). For loops that end in
 *
 *   total[i] += factor * sum[i]
 *
 * with one factor for many i: there every second FFMA reads three registers for two, and takes two clocks. */
#ifndef RIDGE_SUPPORT_KEEP_OPERANDS_CUH
#define RIDGE_SUPPORT_KEEP_OPERANDS_CUH

#endif

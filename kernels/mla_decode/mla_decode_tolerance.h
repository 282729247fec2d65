/* SPDX-License-Identifier: Apache-2.0 */
/* How far results of mla_decode and mla_decode_f16 may be off: out by MLA_ROUNDING |ref|, which is the result's type,
 * and MLA_TOLERANCE times the root mean square of the row's 64 columns around it, which is that of probabilities in
 * BF16. */
#ifndef RIDGE_MLA_DECODE_TOLERANCE_H
#define RIDGE_MLA_DECODE_TOLERANCE_H

#define MLA_TOLERANCE 0x1p-6
#ifdef MLA_DECODE_F16
#define MLA_ROUNDING 0x1p-11
#else
#define MLA_ROUNDING 0x1p-8
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIDGE_CVT_F32_BF16_H
#define RIDGE_CVT_F32_BF16_H

/* Chain j becomes the pair (bf16 of chain j + 1, bf16 of chain j), read as an f32 in the next step: nothing but
 * conversions. The high half grows by at most one unit a step, so values stay finite. */
enum { CVT_BF16_STEPS = 256 };

#endif

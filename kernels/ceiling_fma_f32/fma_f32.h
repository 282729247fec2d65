/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIDGE_FMA_F32_H
#define RIDGE_FMA_F32_H

/* x = c - x^2 with c in [1.5, 1.9): chaotic and bounded by 2, so operands keep toggling and every error grows until it
 * shows. */
enum { FMA_STEPS = 1024 };

#endif

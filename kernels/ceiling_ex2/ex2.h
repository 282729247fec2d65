/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIDGE_EX2_H
#define RIDGE_EX2_H

/* x = 2^(seed - x / 2): contracts to a fixed point that depends on the seed, so errors do not pile up. */
enum { EX2_STEPS = 256 };

#endif

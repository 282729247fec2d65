/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIDGE_CVT_F16_F32_H
#define RIDGE_CVT_F16_F32_H

/* A chain holds two f16. The top bit but one of each is kept clear, so that none is infinite or NaN. */
enum { CVT_F16_STEPS = 256, CVT_F16_CLEAR = 0x20002000 };

#endif

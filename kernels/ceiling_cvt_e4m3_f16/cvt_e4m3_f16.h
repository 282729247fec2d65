/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIDGE_CVT_E4M3_F16_H
#define RIDGE_CVT_E4M3_F16_H

/* A chain holds four e4m3. The multiply-add that joins two results runs in another pipe than the conversions. */
enum { CVT_E4M3_STEPS = 256 };

#endif

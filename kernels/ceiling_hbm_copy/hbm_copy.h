/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIDGE_HBM_COPY_H
#define RIDGE_HBM_COPY_H

/* What a CTA copies: 16 bytes by each of 256 threads, 8 times. */
enum { HBM_COPY_BYTES = 32768 };

#endif

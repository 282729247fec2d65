/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIDGE_HBM_COPY_H
#define RIDGE_HBM_COPY_H

/* Shapes are multiples of this; no variant hands a CTA more at a time. */
enum { HBM_COPY_BYTES = 32768 };

#endif

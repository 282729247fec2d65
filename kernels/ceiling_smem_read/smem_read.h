/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIDGE_SMEM_READ_H
#define RIDGE_SMEM_READ_H

/* What a CTA holds and a pass reads: 4 loads of 16 bytes by each of 1024 threads. */
enum { SMEM_TABLE_BYTES = 65536, SMEM_THREADS = 1024 };

#endif

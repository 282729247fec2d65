/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIDGE_DSMEM_READ_H
#define RIDGE_DSMEM_READ_H

/* What a pass reads: 4 loads of 16 bytes by each of 1024 threads. src holds two such tables. */
enum { DSMEM_TABLE_BYTES = 65536, DSMEM_THREADS = 1024 };

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIDGE_HBM_READ_H
#define RIDGE_HBM_READ_H

#include "kernels/kernel.h"

/* One word of output a piece. A warp reads a piece with 16 loads of 16 bytes a lane. */
enum { HBM_PIECE_BYTES = 8192 };

#endif

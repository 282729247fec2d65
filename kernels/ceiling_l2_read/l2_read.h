/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIDGE_L2_READ_H
#define RIDGE_L2_READ_H

/* One word of output a piece; a warp reads it with 4 loads of 16 bytes a lane. */
enum { L2_PIECE_BYTES = 2048 };

#endif

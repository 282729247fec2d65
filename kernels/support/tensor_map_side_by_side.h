/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor maps whose copies take several boxes at once. */
#ifndef RIDGE_SUPPORT_TENSOR_MAP_SIDE_BY_SIDE_H
#define RIDGE_SUPPORT_TENSOR_MAP_SIDE_BY_SIDE_H

#include "kernels/support/tensor_map.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As tensor_map_encode, but a copy (tma_load_side_by_side) takes `boxes` boxes that are side by side in the matrix; in
 * shared memory each follows the one before. columns is a multiple of box_columns. */
int tensor_map_encode_side_by_side(const struct ridge_call *call, const struct tensor_map_matrix *matrix, int boxes,
                                   CUtensorMap *map);

#ifdef __cplusplus
}
#endif

#endif

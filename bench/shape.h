/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes: presets, parsing "m=4096,n=512,k=64", validation, memory needed. */
#ifndef RIDGE_SHAPE_H
#define RIDGE_SHAPE_H

#include <stdbool.h>

#include "base/error.h"
#include "kernels/kernel.h"

/* "4096x512x64": axis values in order, joined with 'x'; the name of a shape in records. */
void shape_name(const struct ridge_family *family, const int64_t *dim, char *buf, size_t bytes);

/* Parses "axis=value,..."; axes that are not named keep the values already in dim. RIDGE_INVALID for an unknown
 * or repeated axis, a value that is no integer or does not fit int64_t, or one that breaks the axis' rule. */
int shape_parse(const struct ridge_family *family, const char *text, int64_t *dim, struct ridge_error *err);

/* Whether the family has an axis of each name in "axis=value,...". */
bool shape_has_axes(const struct ridge_family *family, const char *text);

/* Limits and multiples of every axis, then family->shape_error. */
int shape_validate(const struct ridge_family *family, const int64_t *dim, struct ridge_error *err);

/* Bytes of all buffers of a shape, as a double so that absurd shapes give a number and not an overflow. */
double shape_bytes(const struct ridge_family *family, const int64_t *dim);

size_t dtype_bytes(enum ridge_dtype dtype);
const char *dtype_name(enum ridge_dtype dtype);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What a user of a device that was not measured looks for first. */
#ifndef RIDGE_ROOFLINE_CHOICES_H
#define RIDGE_ROOFLINE_CHOICES_H

#include "roofline/plot.h"

/* Prints a line for each family, shape and mode of the points: the step whose projected time on `target` has the least
 * upper end. `ceilings`: of the device that the points were measured on. Nothing where no point can be projected. */
int roofline_choices(const struct point_list *points, const struct ceilings *ceilings, const struct device_spec *target,
                     struct ridge_error *err);

#endif

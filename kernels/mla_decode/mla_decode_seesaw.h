/* SPDX-License-Identifier: Apache-2.0 */
/* The seesaw schedule with its rescaling as a parameter, so that a test can try the factor that a
 * walk-through of the schedule prints. */
#ifndef RIDGE_MLA_DECODE_SEESAW_H
#define RIDGE_MLA_DECODE_SEESAW_H

#include "kernels/kernel.h"

/* What sums that were made with maximum m_old are multiplied by when the maximum becomes m_new > m_old. */
typedef float (*mla_rescale_fn)(float m_old, float m_new);

/* As ridge_variant.launch. */
int mla_seesaw(const struct ridge_call *call, mla_rescale_fn rescale);
size_t mla_seesaw_workspace_bytes(const int64_t *dim, const struct ridge_device *device);

#endif

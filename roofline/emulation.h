/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What records of a throttled device (mode.emulate) say of the device that it stands for. The ceiling_* families among
 * them calibrate: the throttled rate over the specified one is the factor by which a time that this resource paces
 * would be longer on the real device. A time that several resources could pace is an interval.
 */
#ifndef RIDGE_EMULATION_H
#define RIDGE_EMULATION_H

#include "bench/record.h"
#include "roofline/device_file.h"

struct emulated_factor {
    double low, high; /* NaN: not calibrated */
};

struct emulation {
    const char *device; /* id of the emulated device, of a record */
    struct device_spec spec;
    struct emulated_factor factor[RES_COUNT];
};

/* The device that records name in mode.emulate, and its factors. Memory has one factor, of the best variant; the tensor
 * cores have one a shape of the instruction. RIDGE_INVALID where no record is emulated, or records name two devices. */
int emulation_of(const struct record_list *list, struct emulation *emulation, struct ridge_error *err);

/* The calibrated ceiling that a record measures: its field, rate and specified rate; -1 if it measures none. */
int emulation_ceiling(const struct emulation *emulation, const json_t *record, double *rate, double *specified);

/* Whether the record counts among the factors, as instructions that emulated kernels use do: A from shared memory with
 * n = 16 and up, A in registers with n = 64 and up. */
bool emulation_counts(const json_t *record);

/* What a throttled time of 1 would be on the device: 1, and the factors of the resources that explain the time. NaN where
 * no ceiling among the records calibrates one of them. */
struct emulated_factor emulation_interval(const struct emulation *emulation, const json_t *record);

#endif

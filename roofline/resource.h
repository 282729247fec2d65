/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The resource model. A launch makes demands on resources (work keys of the record); a device has a ceiling for
 * each. The floor is the largest quotient, and the resource it comes from is the bound.
 */
#ifndef RIDGE_RESOURCE_H
#define RIDGE_RESOURCE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"

enum resource {
    RES_HBM,
    RES_L2,
    RES_SMEM,
    RES_DSMEM,
    RES_TENSOR_BF16,
    RES_TENSOR_FP8,
    RES_FP32,
    RES_EXP,
    RES_CONVERT,
    RES_LAUNCH,
    RES_WAVE, /* the floor of the others again, lengthened by the last, partly filled wave */
    RES_COUNT
};

const char *resource_name(enum resource resource);  /* "tensor_bf16", key in files and tables */
const char *resource_label(enum resource resource); /* "tensor cores BF16", for people */

/* Ceilings of one device. NaN: not known. */
struct ceilings {
    double hbm_read, hbm_copy, hbm_write; /* bytes/s; copy counts bytes read plus written */
    double l2, smem, dsmem;               /* bytes/s, all SMs */
    double tensor_bf16, tensor_fp8, fp32; /* FLOP/s, dense */
    double exp;                           /* results/s */
    double cvt_e4m3_f16, cvt_f16_f32, cvt_f32_bf16, mul_bf16; /* elements/s */
    double launch_s;                      /* floor of one launch */
    int sms;
};

/* The measured ceilings in a set of records: those of the ceiling_* families, best variant and shape each. Fields
 * without a record stay NaN. `device` selects records by device.name; NULL takes all. */
int ceilings_from_records(json_t *const *record, size_t count, const char *device, struct ceilings *out,
                          struct ridge_error *err);

/* measured where known, else specified */
struct ceilings ceilings_merge(const struct ceilings *measured, const struct ceilings *specified);

struct bound {
    double seconds[RES_COUNT]; /* demand over ceiling; 0: no demand, NaN: demand but no ceiling known */
    enum resource first, second; /* largest and second largest */
    double floor_s;              /* seconds[first] */
};

/* `work` is the record's work.useful or work.issued object. HBM traffic is divided by a ceiling interpolated
 * between read, copy and write by the share of writes. Conversions of several kinds add up. */
struct bound bound_of(const json_t *work, const struct ceilings *ceilings);

/* Three ways to speak of a GPU that is not in the machine; see docs/method.md. */
struct placed {
    double floor_s;       /* attainable time on the other device's specified roofs */
    enum resource bound;
};
struct projected {
    double seconds, low_s, high_s; /* measured time scaled by the ratio of the binding resource's ceilings; the
                                      interval reaches to the ratio of the second resource */
    enum resource bound;
};
struct placed place(const json_t *record, const struct ceilings *target);
struct projected project(const json_t *record, const struct ceilings *source, const struct ceilings *target);

#endif

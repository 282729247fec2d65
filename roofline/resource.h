/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The resource model. A launch makes demands on resources (work keys of the record); a device has a ceiling for
 * each. The floor is the largest quotient, and the resource it comes from is the bound. docs/method.md explains it.
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
    RES_WAVE, /* the largest of the per-SM resources again, lengthened by the last, partly filled wave */
    RES_COUNT
};

const char *resource_name(enum resource resource);  /* "tensor_bf16", key in files and tables */
const char *resource_label(enum resource resource); /* "tensor cores BF16", for people */

/* Ceilings of one device. NaN: not known. */
struct ceilings {
    double hbm_read, hbm_copy, hbm_write;                     /* bytes/s; copy counts bytes read plus written */
    double l2, smem, dsmem;                                   /* bytes/s, all SMs */
    double tensor_bf16, tensor_fp8, fp32;                     /* FLOP/s, dense */
    double exp;                                               /* results/s */
    double cvt_e4m3_f16, cvt_f16_f32, cvt_f32_bf16, mul_bf16; /* elements/s */
    double launch_s;                                          /* floor of one launch */
    int sms;
};

/* The fields of struct ceilings except sms, for loops over them. */
enum { CEILING_COUNT = 15 };
struct ceiling_info {
    const char *key;   /* "hbm_read" */
    const char *label; /* "HBM read" */
    const char *unit;  /* "B/s", "FLOP/s", "op/s", "s" */
    bool per_sm;       /* scales with SMs and their clock */
};
extern const struct ceiling_info ceiling_info[CEILING_COUNT];
double *ceiling_at(struct ceilings *ceilings, int field);
struct ceilings ceilings_unknown(void); /* all NaN, sms 0 */

/* The measured ceilings in a set of records: those of the ceiling_* families, best variant and shape each, from
 * records with status ok, check ok, random data and no emulation. Fields without a record stay NaN. `device` selects
 * records by device.name; NULL takes all. */
int ceilings_from_records(json_t *const *record, size_t count, const char *device, struct ceilings *out,
                          struct ridge_error *err);

/* The same; from[i] (if from is not NULL) becomes the record that ceiling_info[i] rests on, borrowed, or NULL. */
int ceilings_with_evidence(json_t *const *record, size_t count, const char *device, struct ceilings *out,
                           const json_t *from[CEILING_COUNT], struct ridge_error *err);

/* The ceiling a record measures: its field and rate (seconds for launch_s). -1 if it measures none. */
int ceiling_of_record(const json_t *record, double *rate);
int ceiling_of_emulated(const json_t *record, const char *device, double *rate); /* of one with that mode.emulate */

/* measured where known, else specified */
struct ceilings ceilings_merge(const struct ceilings *measured, const struct ceilings *specified);

struct bound {
    double seconds[RES_COUNT];   /* demand over ceiling; 0: no demand, NaN: demand but no ceiling known */
    enum resource first, second; /* largest and second largest; second == first where there is only one */
    double floor_s;              /* seconds[first]; 0 if nothing is known, and first then means nothing */
    double wave;                 /* factor >= 1 by which the last wave lengthens the per-SM resources */
    enum resource unknown;       /* a resource demanded without a known ceiling (the floor may be too low), launches
                                    aside; RES_COUNT if there is none */
};

/* `work` is the record's work.useful or work.issued object; NULL demands nothing. HBM traffic is divided by a ceiling
 * interpolated between read, copy and write by the share of writes. Conversions that share a pipe add up, and the
 * busier pipe counts. RES_WAVE is nonzero only where work.tiles leave the last wave partly filled, that lengthens the
 * floor by more than a tenth, and it is the largest. */
struct bound bound_of(const json_t *work, const struct ceilings *ceilings);

/* bound_of the record's issued (else useful) work. Where the cache was asked to be hot and the compulsory bytes fit
 * the L2 of the record's device, they are demanded of L2 and not of HBM. */
struct bound record_bound(const json_t *record, const struct ceilings *ceilings);

/* A time below the floor by more than the noise of ceilings: an accounting error of work or roof, not a success.
 * NaN is not. */
bool bound_exceeded(double measured_s, double floor_s);

/* Whether the floor is enough of a time (a third) to call its resource the bound; below, something else was waited for. */
bool bound_explains(double floor_s, double measured_s);

/* record_bound against time, with the launch floor left aside: it is a habit of drivers, not a law of the chip. */
bool record_exceeds(const json_t *record, const struct ceilings *ceilings);

/* Totals of a work object, 0 if NULL. */
double work_flops(const json_t *work);                   /* flop_bf16 + flop_fp8 + flop_fp32 */
double work_hbm_bytes(const json_t *work);               /* read plus written */
double work_number(const json_t *work, const char *key); /* 0 if absent */

double record_time_s(const json_t *record); /* median of one launch; NaN if there is none */

/* Three ways to speak of a GPU that is not in the machine; see docs/method.md. */
struct placed {
    double floor_s;               /* attainable time on the other device's specified roofs; 0 if nothing is known */
    enum resource bound, unknown; /* unknown as in struct bound */
};
struct projected {
    double seconds, low_s, high_s; /* measured time scaled by the ratio of the binding resource's ceilings; the
                                      interval reaches to the ratio of the second resource. Never below the placed
                                      floor. NaN without a time or without the ceilings */
    enum resource bound;           /* the resource that scaled it, or the target's bound where the floor took over */
};
/* `source` and `target` should be of one kind, specified where both are: a measured ceiling over a specified one would
 * credit the target with the efficiency that no memory reaches. */
struct placed place(const json_t *record, const struct ceilings *target);
struct projected project(const json_t *record, const struct ceilings *source, const struct ceilings *target);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a report says, derived from records: rows of a ladder with their rates, bounds and ratios, grouped by device
 * and family. Nothing here is stored anywhere; tables, Markdown and plots all read the same rows.
 */
#ifndef RIDGE_REPORT_MODEL_H
#define RIDGE_REPORT_MODEL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "bench/record.h"
#include "roofline/resource.h"

enum row_state {
    ROW_OK,
    ROW_BELOW_QUANTUM, /* the clock cannot resolve it: no number is shown */
    ROW_UNTIMED,       /* status ok without a time */
    ROW_SKIP,
    ROW_FAIL,
};

/* Rows of a family that are no steps of its ladder stand apart: measured as another device, or with a plan that the
 * variant was told to take. */
enum report_kind { KIND_LADDER, KIND_EMULATED, KIND_PLANS };

struct report_row {
    const json_t *record; /* borrowed from the list */
    const char *family, *label, *shape;
    char *mode;            /* "cold/stream/burst/random", "/emulate=h20" appended when it applies; owned */
    const char *plan;      /* that it was told to take; NULL: its own choice */
    enum report_kind kind; /* ladder for all of ceiling_* */
    enum row_state state;

    bool host;        /* measured on the host */
    bool host_ladder; /* h01... */
    int step;         /* number of the label, -1 without one */
    bool vendor;      /* step >= 90 */
    bool ladder_break;

    double time_ns;    /* time.median_ns, by the clock that the ceilings were measured with */
    const char *clock; /* time.clock */
    double spread;     /* relative: half of the 95 % interval, or MAD where there is no interval */

    double flop_s, byte_s; /* useful FLOP (all kinds) and compulsory HBM bytes per second; NaN without work */
    struct bound bound;    /* of the issued work */
    double roof_share;     /* its floor over the time: share of the roof that binds */
    double useful_share;   /* the same for the useful work */
    bool above_roof;       /* the work or the ceiling is wrong */

    double speedup;                   /* over `over`; NaN if there is none */
    const struct report_row *over;    /* the nearest earlier step that was timed */
    double vendor_share;              /* time of `library` over this time */
    const struct report_row *library; /* the fastest vendor variant */
};

/* The rows of one kind of a family. */
struct report_family {
    const char *name;
    enum report_kind kind;
    struct report_row *row; /* points into report.row */
    size_t rows;
};

struct report_device {
    const char *name, *profile, *driver, *cuda, *uuid;
    bool host;
    struct ceilings measured, specified, merged;
    char spec_name[64];           /* device whose file gave `specified`; "" if none */
    char spec_note[600];          /* why there is none; "" otherwise */
    const struct report_row *row; /* all rows of the device */
    size_t rows;
    struct report_family *family; /* those of a name follow one another by kind; points into report.family */
    size_t families;
    struct report_family ceilings; /* the rows of all ceiling_* families, which measure roofs */
};

struct report {
    struct record_list *list; /* borrowed */
    struct report_row *row;
    size_t rows;
    struct report_family *family;
    size_t families;
    struct report_device *device;
    size_t devices;
    size_t superseded; /* records replaced by a later one of the same key and device */
};

/* `list` must outlive the report. `device_id` names the device file that fills gaps in the measured ceilings of CUDA
 * devices, NULL the one of device.profile; RIDGE_INVALID if it is unknown. */
int report_build(struct report *report, struct record_list *list, const char *device_id, struct ridge_error *err);
void report_free(struct report *report);

/* time(base) / time(row): kernel clock where both have it, else the clock of the samples. NaN if either is untimed. */
double report_ratio(const struct report_row *base, const struct report_row *row);

/* The same variant, shape and mode without a plan; NULL if it was not measured. */
const struct report_row *report_own_choice(const struct report_device *device, const struct report_row *row);

/* Names of a resource where the row was measured: on the host HBM is DRAM, L2 the caches beyond the first, and so on. */
const char *row_resource(const struct report_row *row, enum resource resource); /* "dram" */
const char *row_resource_label(const struct report_row *row, enum resource resource);

/* The first row of a group of the same shape and mode ends before *end. */
size_t report_group_end(const struct report_family *family, size_t begin);

#endif

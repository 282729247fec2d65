/* SPDX-License-Identifier: Apache-2.0 */
/* What a roofline shows of a record: work at each memory level over the measured time, declared and counted. */
#ifndef RIDGE_POINT_H
#define RIDGE_POINT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "bench/record.h"
#include "roofline/resource.h"

enum level { LEVEL_HBM, LEVEL_L2, LEVEL_SMEM, LEVEL_COUNT };

const char *level_name(enum level level);                  /* "hbm", in file names */
const char *level_label(enum level level, bool host);      /* "HBM"; "DRAM" on the host */
const char *bound_name(enum resource resource, bool host); /* resource_name, with the host's names of memories */
const char *bound_label(enum resource resource, bool host); /* resource_label, likewise */

struct point {
    const json_t *record; /* borrowed */
    const char *family, *label;
    char name[128]; /* label, with shape and mode where two points of the family would read the same */
    int family_index;
    bool emulated; /* mode.emulate is not "none" */
    double time_s;
    double useful_flop, issued_flop; /* issued: counted by tensor counters where there are any */
    struct {
        double useful_bytes, issued_bytes; /* 0: the level is not declared */
        bool counted;                      /* issued_bytes comes from hardware counters */
    } level[LEVEL_COUNT];
};

struct point_list {
    struct point *point;
    size_t count;
    int families;
    size_t left_out; /* records of this device that were skipped, failed, unchecked or have no time */
    size_t replaced; /* older records of the same variant, shape and mode */
};

/* The timed and checked records of one device (device.name), ceilings excluded, by family and label. `list` must
 * outlive the points. */
int points_of_device(const struct record_list *list, const char *device, struct point_list *out,
                     struct ridge_error *err);
void point_list_free(struct point_list *points);

/* Useful and issued work differ visibly at this level. */
bool point_differs(const struct point *point, enum level level);

#endif

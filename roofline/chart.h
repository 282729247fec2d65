/* SPDX-License-Identifier: Apache-2.0 */
/* A roofline chart before it is drawn: roofs, and entries with their marks and key texts. */
#ifndef RIDGE_CHART_H
#define RIDGE_CHART_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "roofline/device_file.h"
#include "roofline/point.h"

struct chart_roof {
    char label[96];
    double rate; /* FLOP/s, or bytes/s of a slanted roof */
    bool slanted;
    bool measured; /* else specified: drawn dashed */
};

enum mark {
    MARK_NONE,
    MARK_MODEL,          /* useful work, bytes declared by the model */
    MARK_COUNTED,        /* the same, and hardware counters agree */
    MARK_ISSUED_MODEL,   /* issued work as declared */
    MARK_ISSUED_COUNTED, /* issued work as counted */
    MARK_PLACED,
    MARK_PROJECTED,
    MARK_EMULATED,
    MARK_ERROR, /* ring: above a roof */
    MARK_COUNT
};

const char *mark_meaning(enum mark mark);

struct chart_mark {
    enum mark mark;
    double x, y; /* FLOP/byte, FLOP/s */
};

struct chart_entry {
    const char *family;
    int family_index;
    char name[128], value[32], note[48]; /* columns of the key */
    struct chart_mark main, second;      /* linked by a line if there is a second */
    double low, high;                    /* interval of main.y; 0 if there is none */
    bool above_roof;
};

enum { CHART_ROOFS = 12 };
struct chart {
    char title[192], subtitle[256], stem[96]; /* stem: file name without extension */
    char x_label[64];
    const char *value_title, *note_title;
    struct chart_roof roof[CHART_ROOFS];
    int roofs;
    struct chart_entry *entry; /* owned */
    size_t entries;
};

/* Points on the roofs of the device that they were measured on; `specified` may be NULL. No entries: nothing to draw
 * at this level. */
int chart_measured(const struct point_list *points, enum level level, const struct ceilings *measured,
                   const struct device_spec *specified, struct chart *chart, struct ridge_error *err);

/* The same work on the specified roofs of a device that is not here: placed, projected, or emulated. `source` are the
 * ceilings of the device that was measured. */
int chart_elsewhere(const struct point_list *points, enum level level, const struct ceilings *source,
                    const struct device_spec *target, struct chart *chart, struct ridge_error *err);

void chart_free(struct chart *chart);

/* "4.54 TB/s" of 4.54e12 and "B/s"; three significant digits. */
void rate_text(double rate, const char *unit, char *text, size_t bytes);

/* "2.48 ms" */
void time_text(double seconds, char *text, size_t bytes);

#endif

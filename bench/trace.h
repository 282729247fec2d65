/* SPDX-License-Identifier: Apache-2.0 */
/* Stamps of a traced kernel as spans of time, what overlaps in them, and as JSON for Perfetto and chrome://tracing. */
#ifndef RIDGE_BENCH_TRACE_H
#define RIDGE_BENCH_TRACE_H

#include <jansson.h>
#include <stddef.h>

#include "base/error.h"
#include "kernels/support/trace.h"

struct trace_span {
    int cta, lane;
    enum trace_phase phase;
    double begin, end; /* cycles since the CTA's first stamp */
};

struct trace_spans {
    struct trace_span *span; /* owned; by CTA, lane, then end */
    size_t count;
};

/* RIDGE_INVALID: an end without its begin, a phase that is none, or nothing at all. A span that the log had no room to
 * end is left out. */
int trace_spans_of(const trace_lane lanes[TRACE_CTAS * TRACE_LANES], struct trace_spans *spans,
                   struct ridge_error *err);
void trace_spans_free(struct trace_spans *spans);

/* Of one CTA, as shares of the time from its first span to its last. Products are queued where scores or values are
 * open and that warpgroup does not wait for keys. */
struct trace_overlap {
    double cycles;
    double phase[TRACE_LANES][trace_phases];
    double queued;  /* products of any warpgroup are queued */
    double softmax; /* any warpgroup makes exponentials */
    double covered; /* and products are queued, by another one or by itself */
};
struct trace_overlap trace_overlap_of(const struct trace_spans *spans, int cta);

const char *trace_phase_name(enum trace_phase phase);

/* Complete events in microseconds at `mhz`: a process a CTA, two threads a warpgroup, one of them for products, which
 * run while the warpgroup does something else. `about` is borrowed and goes under otherData. */
json_t *trace_json(const struct trace_spans *spans, double mhz, json_t *about);

#endif

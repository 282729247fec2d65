/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/trace.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BEGIN = 1, END = 2 };

const char *trace_phase_name(enum trace_phase phase)
{
    static const char *const name[] = {
#define NAME(name) #name,
        TRACE_PHASES(NAME)
#undef NAME
    };
    return name[phase];
}

/* Spans of one lane, in cycles since `origin`. Neighbouring stamps are less than half of 2^32 cycles apart. */
static int lane_spans(const struct trace_event *event, int cta, int lane, uint32_t origin, struct trace_spans *spans,
                      struct ridge_error *err)
{
    double begin[trace_phases], now = 0;
    uint32_t clock = origin;
    for (int i = 0; i < trace_phases; i++)
        begin[i] = NAN;
    for (int i = 0; i < TRACE_EVENTS && event[i].edge; i++) {
        now += (int32_t)(event[i].clock - clock);
        clock = event[i].clock;
        if (event[i].phase >= trace_phases || event[i].edge > END)
            return ridge_fail(err, RIDGE_INVALID, "trace: CTA %d, warpgroup %d, stamp %d: phase %d, edge %d is none",
                              cta, lane, i, event[i].phase, event[i].edge);
        double *open = &begin[event[i].phase];
        if (event[i].edge == BEGIN) {
            *open = now;
            continue;
        }
        if (isnan(*open))
            return ridge_fail(err, RIDGE_INVALID, "trace: CTA %d, warpgroup %d, stamp %d: %s ends without a begin", cta,
                              lane, i, trace_phase_name(event[i].phase));
        spans->span[spans->count++] = (struct trace_span){cta, lane, event[i].phase, *open, now};
        *open = NAN;
    }
    return RIDGE_OK;
}

/* The earliest first stamp of a CTA's lanes, which began within seconds of each other. */
static uint32_t first_clock(const trace_lane *lanes)
{
    bool any = false;
    uint32_t first = 0;
    for (int lane = 0; lane < TRACE_LANES; lane++) {
        if (lanes[lane][0].edge && (!any || (int32_t)(lanes[lane][0].clock - first) < 0))
            first = lanes[lane][0].clock;
        any |= lanes[lane][0].edge != 0;
    }
    return first;
}

int trace_spans_of(const trace_lane lanes[TRACE_CTAS * TRACE_LANES], struct trace_spans *spans, struct ridge_error *err)
{
    int status = RIDGE_OK;
    *spans = (struct trace_spans){.span = calloc(TRACE_CTAS * TRACE_LANES * TRACE_EVENTS / 2, sizeof *spans->span)};
    if (!spans->span)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "out of memory for the trace");
    for (int cta = 0; cta < TRACE_CTAS; cta++) {
        const uint32_t origin = first_clock(lanes + cta * TRACE_LANES);
        for (int lane = 0; lane < TRACE_LANES && status == RIDGE_OK; lane++)
            status = lane_spans(lanes[cta * TRACE_LANES + lane], cta, lane, origin, spans, err);
    }
    if (status == RIDGE_OK && spans->count == 0)
        status = ridge_fail(err, RIDGE_INVALID, "trace: the kernel left no stamps");
    if (status)
        trace_spans_free(spans);
    return status;
}

void trace_spans_free(struct trace_spans *spans)
{
    free(spans->span);
    *spans = (struct trace_spans){0};
}

struct edge {
    double at;
    int lane, phase, step; /* +1 begin, -1 end */
};

static int earlier(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

/* Adds the time between two neighbouring edges to what was open in it. */
static void add_interval(struct trace_overlap *overlap, int open[TRACE_LANES][trace_phases], double cycles)
{
    bool queued = false, softmax = false;
    for (int lane = 0; lane < TRACE_LANES; lane++) {
        for (int phase = 0; phase < trace_phases; phase++)
            overlap->phase[lane][phase] += open[lane][phase] ? cycles : 0;
        queued |= (open[lane][trace_scores] || open[lane][trace_values]) && !open[lane][trace_keys];
        softmax |= open[lane][trace_softmax];
    }
    overlap->queued += queued ? cycles : 0;
    overlap->softmax += softmax ? cycles : 0;
    overlap->covered += queued && softmax ? cycles : 0;
}

struct trace_overlap trace_overlap_of(const struct trace_spans *spans, int cta)
{
    struct trace_overlap overlap = {0};
    struct edge *edge = calloc(2 * spans->count + 1, sizeof *edge);
    int open[TRACE_LANES][trace_phases] = {{0}};
    size_t edges = 0;
    for (size_t i = 0; edge && i < spans->count; i++) {
        const struct trace_span *span = &spans->span[i];
        if (span->cta != cta)
            continue;
        edge[edges++] = (struct edge){span->begin, span->lane, (int)span->phase, 1};
        edge[edges++] = (struct edge){span->end, span->lane, (int)span->phase, -1};
    }
    if (edges) {
        qsort(edge, edges, sizeof *edge, earlier);
        for (size_t i = 0; i + 1 < edges; i++) {
            open[edge[i].lane][edge[i].phase] += edge[i].step;
            add_interval(&overlap, open, edge[i + 1].at - edge[i].at);
        }
        overlap.cycles = edge[edges - 1].at - edge[0].at;
    }
    free(edge);
    if (overlap.cycles > 0) {
        for (int lane = 0; lane < TRACE_LANES; lane++)
            for (int phase = 0; phase < trace_phases; phase++)
                overlap.phase[lane][phase] /= overlap.cycles;
        overlap.queued /= overlap.cycles;
        overlap.softmax /= overlap.cycles;
        overlap.covered /= overlap.cycles;
    }
    return overlap;
}

static bool is_product(enum trace_phase phase)
{
    return phase == trace_scores || phase == trace_values;
}

static void add_event(json_t *events, json_t *event)
{
    json_array_append_new(events, event);
}

json_t *trace_json(const struct trace_spans *spans, double mhz, json_t *about)
{
    json_t *events = json_array();
    char name[48];
    for (int cta = 0; cta < TRACE_CTAS; cta++) {
        snprintf(name, sizeof name, "CTA %d", cta);
        add_event(events, json_pack("{s:s, s:s, s:i, s:{s:s}}", "name", "process_name", "ph", "M", "pid", cta, "args",
                                    "name", name));
        for (int track = 0; track < 2 * TRACE_LANES; track++) {
            snprintf(name, sizeof name, "warpgroup %d%s", track / 2, track % 2 ? ": products" : "");
            add_event(events, json_pack("{s:s, s:s, s:i, s:i, s:{s:s}}", "name", "thread_name", "ph", "M", "pid", cta,
                                        "tid", track, "args", "name", name));
        }
    }
    for (size_t i = 0; i < spans->count; i++) {
        const struct trace_span *span = &spans->span[i];
        add_event(events, json_pack("{s:s, s:s, s:f, s:f, s:i, s:i}", "name", trace_phase_name(span->phase), "ph", "X",
                                    "ts", span->begin / mhz, "dur", (span->end - span->begin) / mhz, "pid", span->cta,
                                    "tid", 2 * span->lane + is_product(span->phase)));
    }
    return json_pack("{s:s, s:O, s:o}", "displayTimeUnit", "ns", "otherData", about, "traceEvents", events);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What a traced variant (trace.cuh) leaves behind: per CTA and warpgroup, stamps of when a phase began and ended. */
#ifndef RIDGE_SUPPORT_TRACE_H
#define RIDGE_SUPPORT_TRACE_H

#include <stdint.h>

#define TRACE_PHASES(X)                                                                        \
    X(keys)     /* waits for the first keys of a block */                                        \
    X(scores)   /* products of queries and keys: queued until they are there */                \
    X(softmax)  /* maxima, exponentials, sums, rescaling, rounding */                          \
    X(exchange) /* waits for another warpgroup */                                              \
    X(values)   /* products of probabilities and values: queued until they are there */

enum trace_phase {
#define TRACE_ENUM(name) trace_##name,
    TRACE_PHASES(TRACE_ENUM)
#undef TRACE_ENUM
        trace_phases
};

enum {
    TRACE_CTAS = 2, /* the first of the grid */
    TRACE_LANES = 3, /* warpgroups of a CTA */
    TRACE_EVENTS = 4096,
};

struct trace_event {
    uint32_t clock; /* low half of the SM's cycle counter */
    uint16_t phase;
    uint16_t edge; /* 1 begin, 2 end, 0 behind the last stamp */
};

/* Of one lane of one CTA, in the order of time. */
typedef struct trace_event trace_lane[TRACE_EVENTS];

struct ridge_trace {
    /* Copies the last launch's events, lane by lane and CTA by CTA; 0, or a CUDA error number. Waits for the device. */
    int (*read)(trace_lane lanes[TRACE_CTAS * TRACE_LANES]);
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Draws samples until the median is known well enough or the budget is spent. The clock is behind a
 * callback, so tests simulate quantised timers, bimodal noise and drift. */
#ifndef RIDGE_SAMPLER_H
#define RIDGE_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Fewer samples than this give no interval of the median that two runs could be compared by. */
enum { SAMPLER_LEAST = 6 };

struct sampler_limits {
    size_t min_samples, max_samples; /* kept samples */
    size_t warmup;                   /* samples drawn first and discarded */
    double rel_ci;                   /* stop when (high - low) / median of the 95 % interval is at most this, and
                                        neither two modes nor a drift make it look so */
    double budget_ns;                /* stop when draw() calls have taken this long altogether (wall clock) and there
                                        are SAMPLER_LEAST samples */
};

enum sampler_stop { SAMPLER_CI, SAMPLER_BUDGET, SAMPLER_MAX, SAMPLER_INTERRUPTED };

/* One drawn sample. NaN marks a clock that was not read. */
struct sample {
    double event_ns;  /* host variants: host_ns here */
    double kernel_ns; /* filled in later, from activity records */
    double sm_hz;     /* the SM clock during the sample */
    double wall_ns;   /* what drawing it cost altogether, preparation included */
};

struct sampler_result {
    struct sample *sample; /* owned; sampler_free */
    size_t count;
    size_t discarded; /* warm-up samples */
    size_t rounds;    /* calls of sampler_run that drew them */
    enum sampler_stop stop; /* of the last one */
};

/* 0, or a status with *err set; draw may also return a status. `interrupted` is polled between samples. */
typedef int (*sampler_draw)(void *ctx, struct sample *out, struct ridge_error *err);
int sampler_run(const struct sampler_limits *limits, sampler_draw draw, void *ctx, bool (*interrupted)(void),
                struct sampler_result *result, struct ridge_error *err);
void sampler_free(struct sampler_result *result);

/* Puts the samples of `more` behind those of `all` (zeroed before the first round), and leaves `more` empty. */
int sampler_append(struct sampler_result *all, struct sampler_result *more, struct ridge_error *err);

const char *sampler_stop_name(enum sampler_stop stop); /* "ci" "budget" "max" "interrupted" */

#endif

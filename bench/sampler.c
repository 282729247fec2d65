/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/sampler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"

/* The 95 % interval of the median is narrow, and two more rules hold against being narrow by luck:
 * - the samples within 3.3 standard deviations of the median's rank lie in twice that width (for normal noise they lie
 *   in 1.7 times). With two modes the 95 % interval lies in one of them once in twenty looks, these once in a thousand;
 * - the medians of the earlier and the later half agree. A clock that drifts or changes state gives a narrow interval
 *   around a median that is still moving. */
static bool median_is_known(const double *time_ns, size_t n, double rel_ci)
{
    if (n < 2) /* there is no interval */
        return false;
    struct stats stats = stats_of(time_ns, n, 1);
    double allowed_ns = rel_ci * stats.median;
    if (!(stats.ci95[1] - stats.ci95[0] <= allowed_ns))
        return false;
    double reach = fmin(1.65 / sqrt((double)n), 0.5);
    double wide_ns = stats_quantile(time_ns, n, 0.5 + reach) - stats_quantile(time_ns, n, 0.5 - reach);
    if (!(wide_ns <= 2 * allowed_ns))
        return false;
    double early_ns = stats_quantile(time_ns, n / 2, 0.5), late_ns = stats_quantile(time_ns + n / 2, n - n / 2, 0.5);
    return fabs(late_ns - early_ns) <= allowed_ns;
}

/* Samples after n at which the rule is looked at again: few looks at a large n, so that they cost little and the
 * chance of a narrow interval by luck does not add up. */
static size_t next_look(size_t n)
{
    return n + (n / 8 > 4 ? n / 8 : 4);
}

struct drawing {
    const struct sampler_limits *limits;
    sampler_draw draw;
    void *ctx;
    bool (*interrupted)(void);
    double spent_ns;
};

static int draw_one(struct drawing *drawing, struct sample *out, struct ridge_error *err)
{
    *out = (struct sample){NAN, NAN, NAN, NAN};
    int status = drawing->draw(drawing->ctx, out, err);
    if (out->wall_ns > 0) /* false for NaN */
        drawing->spent_ns += out->wall_ns;
    return status;
}

static bool stopped(const struct drawing *drawing)
{
    return drawing->interrupted && drawing->interrupted();
}

/* Warm-up takes at most a quarter of the budget: a launch slower than that does not need much of it. */
static int warm_up(struct drawing *drawing, struct sampler_result *result, struct ridge_error *err)
{
    struct sample dropped;
    int status = RIDGE_OK;
    while (!status && result->discarded < drawing->limits->warmup && !stopped(drawing) &&
           !(drawing->spent_ns >= drawing->limits->budget_ns / 4)) {
        status = draw_one(drawing, &dropped, err);
        result->discarded += !status;
    }
    return status;
}

static int draw_until_known(struct drawing *drawing, double *time_ns, struct sampler_result *result,
                            struct ridge_error *err)
{
    const struct sampler_limits *limits = drawing->limits;
    size_t look = limits->min_samples > 1 ? limits->min_samples : 1;
    for (;;) {
        if (stopped(drawing)) {
            result->stop = SAMPLER_INTERRUPTED;
            return RIDGE_OK;
        }
        int status = draw_one(drawing, &result->sample[result->count], err);
        if (status)
            return status;
        time_ns[result->count] = result->sample[result->count].event_ns;
        result->count++;
        if (result->count == look) {
            if (median_is_known(time_ns, result->count, limits->rel_ci)) {
                result->stop = SAMPLER_CI;
                return RIDGE_OK;
            }
            look = next_look(look);
        }
        if (result->count >= limits->max_samples) {
            result->stop = SAMPLER_MAX;
            return RIDGE_OK;
        }
        if (drawing->spent_ns >= limits->budget_ns && result->count >= SAMPLER_LEAST) {
            result->stop = SAMPLER_BUDGET;
            return RIDGE_OK;
        }
    }
}

int sampler_run(const struct sampler_limits *limits, sampler_draw draw, void *ctx, bool (*interrupted)(void),
                struct sampler_result *result, struct ridge_error *err)
{
    *result = (struct sampler_result){.rounds = 1};
    if (limits->max_samples == 0 || limits->min_samples > limits->max_samples)
        return ridge_fail(err, RIDGE_INVALID, "at most %zu samples: expected at least 1 and at least the %zu asked for",
                          limits->max_samples, limits->min_samples);
    struct drawing drawing = {limits, draw, ctx, interrupted, 0};
    double *time_ns = malloc(limits->max_samples * sizeof *time_ns);
    result->sample = malloc(limits->max_samples * sizeof *result->sample);
    int status = RIDGE_OK;
    if (!time_ns || !result->sample)
        status = ridge_fail(err, RIDGE_ENVIRONMENT, "no memory for %zu samples", limits->max_samples);
    if (!status)
        status = warm_up(&drawing, result, err);
    if (!status)
        status = draw_until_known(&drawing, time_ns, result, err);
    if (status)
        sampler_free(result);
    free(time_ns);
    return status;
}

void sampler_free(struct sampler_result *result)
{
    free(result->sample);
    *result = (struct sampler_result){.count = 0};
}

int sampler_append(struct sampler_result *all, struct sampler_result *more, struct ridge_error *err)
{
    struct sample *grown = realloc(all->sample, (all->count + more->count + 1) * sizeof *grown);
    if (!grown)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "no memory for %zu samples", all->count + more->count);
    if (more->count)
        memcpy(grown + all->count, more->sample, more->count * sizeof *grown);
    all->sample = grown;
    all->count += more->count;
    all->discarded += more->discarded;
    all->rounds += more->count ? more->rounds : 0;
    all->stop = more->stop;
    sampler_free(more);
    return RIDGE_OK;
}

const char *sampler_stop_name(enum sampler_stop stop)
{
    switch (stop) {
    case SAMPLER_CI:
        return "ci";
    case SAMPLER_BUDGET:
        return "budget";
    case SAMPLER_MAX:
        return "max";
    case SAMPLER_INTERRUPTED:
        return "interrupted";
    }
    return "?";
}

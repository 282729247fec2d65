/* SPDX-License-Identifier: Apache-2.0 */
/* Times every plan of the selected variants in one process, each checked, and holds the plan that a variant takes by
 * itself against the fastest one. */
#define _GNU_SOURCE /* qsort_r */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "bench/record.h"
#include "bench/shape.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "reports/format.h"
#include "reports/grid.h"

enum { MAX_PLANS = 256, MAX_VARIANTS = 64 };

struct tune_options {
    struct session_options session;
    const char *json;
};

/* Regrets of a variant. */
struct tally {
    const struct ridge_entry *entry;
    int shapes;
    double log_sum, worst;
    char worst_shape[256];
};

struct tune {
    struct session session;
    struct plan plan;
    struct record_writer writer;
    bool writing;
    struct tally tally[MAX_VARIANTS];
    int variants, failed; /* failed: plans whose check did */
};

/* The plans of a variant on a shape and their records; plan 0 is what the variant takes by itself. */
struct candidates {
    char (*plan)[RIDGE_PLAN_BYTES];
    json_t **record;
    int count;
};

static int parse(int key, char *value, struct argp_state *state)
{
    struct tune_options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        for (int i = 0; i < 3; i++)
            state->child_inputs[i] = &o->session;
        return 0;
    case 'j':
        o->json = value;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "one FAMILY at a time, '%s' is too many", value);
        o->session.family = value;
        return 0;
    case ARGP_KEY_END:
        if (!o->session.family)
            argp_error(state, "which FAMILY?");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static double median_ns(const json_t *record)
{
    return record_is(record, "status", "ok") ? record_number(record, "time.median_ns") : NAN;
}

/* One plan, checked and timed; NULL is the variant's own choice. */
static int run_one(struct tune *t, struct problem *problem, const struct ridge_entry *entry, const char *plan,
                   json_t **record, struct ridge_error *err)
{
    t->session.info.device.plan = plan;
    int status = runner_run(&t->session.runner, problem, entry, NULL, record, err);
    t->session.info.device.plan = NULL;
    if (status == RIDGE_OK && record_is(*record, "status", "fail")) {
        t->failed++;
        printf("FAIL %s_%s %s: %s\n", entry->family, entry->label, plan ? plan : "its own choice",
               record_string(*record, "reason"));
    }
    return status == RIDGE_OK && t->writing ? record_writer_append(&t->writer, *record, err) : status;
}

static int run_all(struct tune *t, struct problem *problem, const struct ridge_entry *entry, struct candidates *c,
                   struct ridge_error *err)
{
    int status = RIDGE_OK;
    for (int i = 0; i < c->count && status == RIDGE_OK && !session_interrupted(); i++)
        status = run_one(t, problem, entry, i ? c->plan[i] : NULL, &c->record[i], err);
    return status;
}

/* -1: none was timed. */
static int fastest(const struct candidates *c)
{
    int best = -1;
    for (int i = 0; i < c->count; i++)
        if (!isnan(median_ns(c->record[i])) && (best < 0 || median_ns(c->record[i]) < median_ns(c->record[best])))
            best = i;
    return best;
}

static int by_time(const void *a, const void *b, void *candidates)
{
    json_t *const *record = ((const struct candidates *)candidates)->record;
    const double x = median_ns(record[*(const int *)a]), y = median_ns(record[*(const int *)b]);
    return isnan(x) || isnan(y) ? isnan(x) - isnan(y) : (x > y) - (x < y);
}

static int print_candidates(const struct candidates *c, struct ridge_error *err)
{
    struct grid grid = {0};
    int order[MAX_PLANS] = {0};
    char text[64];
    grid_column(&grid, "plan", false);
    grid_column(&grid, "time", true);
    grid_column(&grid, "over fastest", true);
    grid_column(&grid, "error of tolerance", true);
    grid_column(&grid, "", false);
    for (int i = 0; i < c->count; i++)
        order[i] = i;
    qsort_r(order, (size_t)c->count, sizeof *order, by_time, (void *)c);
    for (int i = 0; i < c->count; i++) {
        const json_t *record = c->record[order[i]];
        const double time = median_ns(record);
        grid_cell(&grid, c->plan[order[i]]);
        grid_cell(&grid, isnan(time) ? "failed" : format_time_ns(time).s);
        snprintf(text, sizeof text, "%.1f %%", (time / median_ns(c->record[order[0]]) - 1) * 100);
        grid_cell(&grid, isnan(time) ? "" : text);
        snprintf(text, sizeof text, "%.2g", record_number(record, "check.max_error"));
        grid_cell(&grid, text);
        grid_cell(&grid, order[i] == 0 ? "its own choice" : "");
    }
    int status = grid_print(&grid, stdout, err);
    grid_free(&grid);
    return status;
}

static void count_regret(struct tune *t, const struct step *step, double ratio)
{
    int i = 0;
    while (i < t->variants && t->tally[i].entry != step->entry)
        i++;
    if (i == MAX_VARIANTS)
        return;
    if (i == t->variants)
        t->tally[t->variants++] = (struct tally){.entry = step->entry};
    struct tally *tally = &t->tally[i];
    tally->log_sum += log(ratio);
    if (tally->shapes++ && ratio <= tally->worst)
        return;
    tally->worst = ratio;
    shape_name(step->entry->problem, step->dim, tally->worst_shape, sizeof tally->worst_shape);
}

/* The fastest of many was also the luckiest: it and the variant's choice are timed again, one after the other. */
static int regret(struct tune *t, struct problem *problem, const struct step *step, const struct candidates *c,
                  struct ridge_error *err)
{
    json_t *again[2] = {NULL, NULL};
    const int best = fastest(c);
    size_t n[2];
    int status = RIDGE_OK;
    if (best <= 0) {
        printf("%s\n\n", best ? "no plan passed its check" : "regret 0.0 %: no plan is faster than its own choice");
        if (best == 0)
            count_regret(t, step, 1);
        return RIDGE_OK;
    }
    for (int i = 0; i < 2 && status == RIDGE_OK; i++)
        status = run_one(t, problem, step->entry, i ? NULL : c->plan[best], &again[i], err);
    double *best_ns = record_samples(again[0], &n[0]), *own_ns = record_samples(again[1], &n[1]);
    if (n[0] && n[1] && !session_interrupted()) {
        const struct stats_interval ratio =
            stats_median_ratio(best_ns, n[0], own_ns, n[1], 0.95, t->session.options.seed);
        printf("regret %.1f %% (95 %% interval %.1f to %.1f): timed again, its own choice takes %s, %s takes %s\n\n",
               (ratio.value - 1) * 100, (ratio.low - 1) * 100, (ratio.high - 1) * 100,
               format_time_ns(median_ns(again[1])).s, c->plan[best], format_time_ns(median_ns(again[0])).s);
        count_regret(t, step, ratio.value);
    }
    free(best_ns);
    free(own_ns);
    json_decref(again[0]);
    json_decref(again[1]);
    return status;
}

static int tune_open(struct tune *t, struct problem *problem, const struct step *step, struct candidates *c,
                     struct ridge_error *err)
{
    char shape[256];
    shape_name(step->entry->problem, step->dim, shape, sizeof shape);
    printf("%s_%s %s: %d plans\n", step->entry->family, step->entry->label, shape, c->count);
    int status = run_all(t, problem, step->entry, c, err);
    if (status == RIDGE_OK && !session_interrupted())
        status = print_candidates(c, err);
    if (status == RIDGE_OK && !session_interrupted())
        status = regret(t, problem, step, c, err);
    return status;
}

static int tune_step(struct tune *t, const struct step *step, struct ridge_error *err)
{
    struct session *s = &t->session;
    struct problem problem;
    struct candidates c = {.plan = calloc(MAX_PLANS, sizeof *c.plan), .record = calloc(MAX_PLANS, sizeof *c.record)};
    int status = c.plan && c.record ? RIDGE_OK : ridge_fail(err, RIDGE_ENVIRONMENT, "out of memory for the plans");
    session_running(step->entry, step->dim);
    json_t *skip = status ? NULL : runner_skip(&s->runner, step->entry, step->dim);
    if (skip)
        printf("%s_%s is skipped: %s\n\n", step->entry->family, step->entry->label, record_string(skip, "reason"));
    if (status || skip)
        goto out;
    c.count = step->entry->variant->plans(step->dim, &s->info.device, c.plan, MAX_PLANS);
    status = modes_resolve(&s->runner.modes, step->entry->problem, err);
    if (status == RIDGE_OK)
        status = problem_open(&problem, s->ops, &s->info.device, step->entry->problem, step->dim, s->options.modes.fill,
                              0, s->options.seed, err);
    if (status)
        goto out;
    status = problem_reference(&problem, session_reference(s, step), err);
    if (status == RIDGE_OK)
        status = tune_open(t, &problem, step, &c, err);
    problem_close(&problem);
out:
    for (int i = 0; i < c.count; i++)
        json_decref(c.record[i]);
    json_decref(skip);
    free(c.plan);
    free(c.record);
    return status;
}

/* Leaves the steps that have something to choose. */
static int keep_tunable(const struct session *s, struct plan *plan, struct ridge_error *err)
{
    int kept = 0;
    bool elsewhere = false;
    for (int i = 0; i < plan->count; i++)
        if (plan->step[i].entry->variant->plans)
            plan->step[kept++] = plan->step[i];
    plan->count = kept;
    for (int i = 0; i < s->registry.count && !kept; i++)
        elsewhere |= s->registry.entry[i]->variant->plans &&
                     registry_match(s->registry.entry[i], s->options.family, s->options.variant);
    if (elsewhere)
        return ridge_fail(err, s->device_note[0] ? RIDGE_ENVIRONMENT : RIDGE_INVALID,
                          "nothing to tune: the variants of '%s' with plans to choose from need another device%s%s",
                          s->options.family, s->device_note[0] ? ": " : "", s->device_note);
    if (!kept && s->device_note[0] && registry_left_out(s->options.family, s->options.variant))
        return ridge_fail(err, RIDGE_ENVIRONMENT,
                          "nothing to tune: no host variant of '%s' has plans to choose from; %s", s->options.family,
                          s->device_note);
    return kept
               ? RIDGE_OK
               : ridge_fail(err, RIDGE_INVALID, "nothing to tune: no selected variant of '%s' has plans to choose from",
                            s->options.family);
}

static int finish(const struct tune *t, struct ridge_error *err)
{
    if (session_interrupted())
        return ridge_fail(err, RIDGE_ENVIRONMENT, "interrupted");
    for (int i = 0; i < t->variants; i++) {
        const struct tally *tally = &t->tally[i];
        printf("regret of %s_%s over %d shape%s: geometric mean %.1f %%, worst %.1f %% (%s)\n", tally->entry->family,
               tally->entry->label, tally->shapes, tally->shapes > 1 ? "s" : "",
               (exp(tally->log_sum / tally->shapes) - 1) * 100, (tally->worst - 1) * 100, tally->worst_shape);
    }
    if (t->failed)
        return ridge_fail(err, RIDGE_REGRESSION, "%d runs failed their check", t->failed);
    return RIDGE_OK;
}

int cmd_tune(int argc, char **argv, struct ridge_error *err)
{
    static const struct argp_option options[] = {
        {"json", 'j', "FILE", 0, "append one record a line; - is standard output", 4},
        {0},
    };
    const struct argp_child children[] = {{&session_selection_argp, 0, NULL, 1},
                                          {&session_mode_argp, 0, NULL, 2},
                                          {&session_sampling_argp, 0, NULL, 3},
                                          {0}};
    const struct argp argp = {options,
                              parse,
                              "FAMILY",
                              "Times the plans of variants that choose, and the regret of their choice: its time over "
                              "the fastest plan's, less 1.",
                              children,
                              NULL,
                              NULL};
    struct tune_options o = {0};
    struct tune t = {0};
    session_defaults(&o.session);
    o.session.group = "none";
    int status = session_parse(&argp, argc, argv, &o.session, &o, err);
    if (status == RIDGE_OK && o.session.plan)
        status = ridge_fail(err, RIDGE_INVALID, "--plan=%s: tune times all plans", o.session.plan);
    if (status)
        return status;
    status = session_open(&t.session, &o.session, argc, argv, err);
    if (status == RIDGE_OK)
        status = session_plan(&t.session, t.session.info.device.kind, &t.plan, err);
    if (status == RIDGE_OK)
        status = keep_tunable(&t.session, &t.plan, err);
    if (status == RIDGE_OK && o.json) {
        status = session_open_writer(&t.writer, o.json, err);
        t.writing = status == RIDGE_OK;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 0; i < t.plan.count && status == RIDGE_OK && !session_interrupted(); i++)
        status = tune_step(&t, &t.plan.step[i], err);
    if (status == RIDGE_OK)
        status = finish(&t, err);
    if (t.writing)
        record_writer_close(&t.writer);
    free(t.plan.step);
    session_close(&t.session);
    return status;
}

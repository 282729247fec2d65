/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "bench/record.h"
#include "bench/shape.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/session.h"
#include "reports/format.h"

/* Above this much work a step on the host can take so long that a log has to say what is going on. */
static const double LONG_HOST_WORK = 1e10;

struct bench_options {
    struct session_options session;
    const char *json;
    bool list;
};

struct bench {
    struct session session;
    struct plan plan;
    struct record_writer writer;
    bool writing, terminal;
    double began_ns;
    int ok, skipped, failed;
};

static int parse(int key, char *value, struct argp_state *state)
{
    struct bench_options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        for (int i = 0; i < 3; i++)
            state->child_inputs[i] = &o->session;
        return 0;
    case 'j':
        o->json = value;
        return 0;
    case 'g':
        o->session.group = value;
        return 0;
    case 'n':
        o->list = true;
        return 0;
    default:
        return inputs_none(key, value, state);
    }
}

/* A line that the next one replaces on a terminal. Elsewhere only what can take long is told. */
static void progress(const struct bench *b, int step, const char *doing)
{
    const struct step *s = &b->plan.step[step];
    char name[256];
    session_running(s->entry, s->dim);
    if (!b->terminal && !(b->session.ops == &device_host && step_cost(s) > LONG_HOST_WORK))
        return;
    shape_name(s->entry->problem, s->dim, name, sizeof name);
    double spent = (time_now_ns() - b->began_ns) / 1e9;
    fprintf(stderr, "%s[%d/%d] %s_%s %s: %s", b->terminal ? "\r\033[K" : "", step + 1, b->plan.count, s->entry->family,
            s->entry->label, name, doing);
    if (step > 2)
        fprintf(stderr, ", about %.0f s left", spent / step * (b->plan.count - step));
    fputs(b->terminal ? "" : "\n", stderr);
    fflush(stderr);
}

static void print_line(const struct bench *b, const json_t *record)
{
    const char *status = record_string(record, "status"), *reason = record_string(record, "reason");
    double median = record_number(record, "time.median_ns");
    const json_t *interval = record_get(record, "time.ci95_ns");
    if (b->terminal)
        fprintf(stderr, "\r\033[K");
    printf("%-36s %-28s %-4s ", record_string(record, "variant.name"), record_string(record, "shape.name"), status);
    if (!record_is(record, "status", "ok"))
        printf("%s\n", reason ? reason : "no reason was given");
    else
        printf("%10s  %s  error %.2g of tolerance\n", format_time_ns(median).s,
               json_is_array(interval) ? text_of("+-%.2f%%", (json_number_value(json_array_get(interval, 1)) -
                                                              json_number_value(json_array_get(interval, 0))) /
                                                                 2 / median * 100)
                                             .s
                                       : "one sample",
               record_number(record, "check.max_error"));
}

/* On the host every core takes part, so other work on them is in the times. The load average alone also remembers what
 * has just ended, such as a build. */
static void warn_of_load(const struct bench *b)
{
    double load, others = 0;
    FILE *file = fopen("/proc/loadavg", "r");
    bool known = file && fscanf(file, "%lf %*f %*f %lf", &load, &others) == 2;
    double spare = (double)sysconf(_SC_NPROCESSORS_ONLN) - b->session.info.device.sms;
    if (file)
        fclose(file);
    if (known && load > spare + 0.5 && others - 1 > spare)
        printf("note: the load average is %.1f: other work on these %d cores may disturb the times\n", load,
               b->session.info.device.sms);
}

/* Takes the record. */
static int emit(struct bench *b, json_t *record, struct ridge_error *err)
{
    int status = b->writing ? record_writer_append(&b->writer, record, err) : RIDGE_OK;
    b->ok += record_is(record, "status", "ok");
    b->skipped += record_is(record, "status", "skip");
    b->failed += record_is(record, "status", "fail");
    print_line(b, record);
    json_decref(record);
    return status;
}

/* Runs the steps [first, last) of one family and shape on one problem. */
static int run_problem(struct bench *b, int first, int last, struct ridge_error *err)
{
    struct session *s = &b->session;
    const struct step *step = &b->plan.step[first];
    struct problem problem = {0};
    struct ridge_error reason = {""};
    bool open = false;
    int status = RIDGE_OK;
    for (int i = first; i < last && status == RIDGE_OK && !session_interrupted(); i++) {
        json_t *record = runner_skip(&s->runner, step[i - first].entry, step->dim);
        if (!record && !open && !reason.text[0]) {
            progress(b, i, session_reference(s, step) ? "GPU reference" : "reference in double precision on the host");
            status = problem_open(&problem, s->ops, &s->info.device, step->entry->problem, step->dim,
                                  s->options.modes.fill, 0, s->options.seed, &reason);
            open = status == RIDGE_OK;
            if (open)
                status = problem_reference(&problem, session_reference(s, step), &reason);
            if (status == RIDGE_INVALID && s->options.shapes == 0)
                status = RIDGE_OK; /* a preset that does not fit this machine is skipped */
            if (status)
                ridge_fail(err, status, "%s: %s", step->entry->family, reason.text);
        }
        if (status)
            break;
        if (!record && reason.text[0])
            record = runner_skipped(&s->runner, step[i - first].entry, step->dim, reason.text);
        progress(b, i, "checking and timing");
        if (!record)
            status = runner_run(&s->runner, &problem, step[i - first].entry, &record, err);
        if (status == RIDGE_OK && session_interrupted() && json_is_null(record_get(record, "time")))
            json_decref(record); /* checked but not timed: not a measurement */
        else if (status == RIDGE_OK)
            status = emit(b, record, err);
    }
    if (open)
        problem_close(&problem);
    return status;
}

static bool same_problem(const struct step *a, const struct step *b)
{
    return a->entry->problem == b->entry->problem && memcmp(a->dim, b->dim, sizeof a->dim) == 0;
}

static int run_plan(struct bench *b, struct ridge_error *err)
{
    int status = RIDGE_OK;
    b->began_ns = time_now_ns();
    for (int first = 0, last; first < b->plan.count && status == RIDGE_OK && !session_interrupted(); first = last) {
        for (last = first + 1; last < b->plan.count && same_problem(&b->plan.step[first], &b->plan.step[last]); last++)
            ;
        status = modes_resolve(&b->session.runner.modes, b->plan.step[first].entry->problem, err);
        if (status == RIDGE_OK)
            status = run_problem(b, first, last, err);
    }
    if (b->terminal)
        fprintf(stderr, "\r\033[K");
    return status;
}

static void print_plan(const struct plan *plan)
{
    char name[256];
    for (int i = 0; i < plan->count; i++) {
        shape_name(plan->step[i].entry->problem, plan->step[i].dim, name, sizeof name);
        printf("%s_%s %s\n", plan->step[i].entry->family, plan->step[i].entry->label, name);
    }
}

static int finish(const struct bench *b, struct ridge_error *err)
{
    printf("%d measured, %d skipped, %d failed in %.1f s\n", b->ok, b->skipped, b->failed,
           (time_now_ns() - b->began_ns) / 1e9);
    if (session_interrupted())
        return ridge_fail(err, RIDGE_ENVIRONMENT, "interrupted: the records so far are complete%s%s",
                          b->writing ? ", in " : "", b->writing ? b->writer.path : "");
    if (b->failed)
        return ridge_fail(err, RIDGE_REGRESSION, "%d of %d failed", b->failed, b->plan.count);
    return RIDGE_OK;
}

int cmd_bench(int argc, char **argv, struct ridge_error *err)
{
    static const struct argp_option options[] = {
        {"json", 'j', "FILE", 0, "append one record a line; - is standard output", 4},
        {"group", 'g', "GROUP", 0, "counters to gather: roofline (default), another metric group, or none", 4},
        {"list", 'n', NULL, 0, "say what would run, and stop", 4},
        {0},
    };
    const struct argp_child children[] = {{&session_selection_argp, 0, NULL, 1},
                                          {&session_mode_argp, 0, NULL, 2},
                                          {&session_sampling_argp, 0, NULL, 3},
                                          {0}};
    const struct argp argp = {
        options,  parse, NULL, "Checks and times variants; one record per variant, shape and mode.",
        children, NULL,  NULL};
    struct bench_options o = {0};
    struct bench b = {.terminal = isatty(STDERR_FILENO)};
    session_defaults(&o.session);
    int status = session_parse(&argp, argc, argv, &o.session, &o, err);
    if (status)
        return status;
    status = session_open(&b.session, &o.session, argc, argv, err);
    if (status == RIDGE_OK)
        status = session_plan(&b.session, b.session.info.device.kind, &b.plan, err);
    if (status == RIDGE_OK && o.list) {
        print_plan(&b.plan);
        goto out;
    }
    if (status == RIDGE_OK && o.json) {
        status = session_open_writer(&b.writer, o.json, err);
        b.writing = status == RIDGE_OK;
    }
    if (status)
        goto out;
    setvbuf(stdout, NULL, _IOLBF, 0); /* a log shows each line when it is true */
    printf("%s, %s\n", b.session.info.name, b.session.run_id);
    if (b.session.device_note[0])
        printf("on the host: %s\n", b.session.device_note);
    if (b.session.ops == &device_host)
        warn_of_load(&b);
    if (b.session.counters_reason[0])
        printf("no counters: %s\n", b.session.counters_reason);
    status = run_plan(&b, err);
    if (status == RIDGE_OK)
        status = finish(&b, err);
out:
    if (b.writing)
        record_writer_close(&b.writer);
    free(b.plan.step);
    session_close(&b.session);
    return status;
}

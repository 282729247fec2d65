/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "bench/record.h"
#include "bench/runner_record.h"
#include "bench/shape.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/session.h"
#include "reports/format.h"

/* Above this much work a step on the host can take so long that a log has to say what is going on. */
static const double LONG_HOST_WORK = 1e10;

enum { MOST_ROUNDS = 100 }; /* the interval of all samples so far is made in each */

struct bench_options {
    struct session_options session;
    const char *json;
    int rounds;
    bool list;
};

/* What the rounds so far know of a step. */
struct taken {
    struct sampler_result samples;
    json_t *record; /* of all samples; written in the last round, or where that is not reached */
    bool written;
};

struct bench {
    struct session session;
    struct plan plan;
    struct taken *taken; /* one a step */
    char **line;         /* likewise: what a handler writes should a signal end the program before the last round */
    struct record_writer writer;
    bool writing, terminal;
    int rounds, round;
    double began_ns;
    int ok, skipped, failed;
};

static int parse_rounds(struct bench_options *o, const char *value)
{
    char *end;
    const long rounds = strtol(value, &end, 10);
    if (*end || end == value || rounds < 1 || rounds > MOST_ROUNDS)
        ridge_fail(&o->session.error, RIDGE_INVALID, "--rounds=%s: not an integer of 1 .. %d", value, MOST_ROUNDS);
    o->rounds = (int)rounds;
    return 0;
}

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
    case 'R':
        return parse_rounds(o, value);
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
    const int done = b->round * b->plan.count + step, all = b->rounds * b->plan.count;
    fprintf(stderr, "%s[%d/%d] %s_%s %s: %s", b->terminal ? "\r\033[K" : "", done + 1, all, s->entry->family,
            s->entry->label, name, doing);
    if (done > 2)
        fprintf(stderr, ", about %.0f s left", spent / done * (all - done));
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

/* A signal finds the old line or the new one, never a freed one. */
static void set_line(struct bench *b, int step, char *line)
{
    char *before = b->line[step];
    b->line[step] = line;
    free(before);
}

static int emit(struct bench *b, int step, struct ridge_error *err)
{
    struct taken *taken = &b->taken[step];
    const json_t *record = taken->record;
    set_line(b, step, NULL);
    int status = b->writing ? record_writer_append(&b->writer, record, err) : RIDGE_OK;
    b->ok += record_is(record, "status", "ok");
    b->skipped += record_is(record, "status", "skip");
    b->failed += record_is(record, "status", "fail");
    print_line(b, record);
    taken->written = true;
    return status;
}

/* Takes the record of this round, which covers the earlier ones. What was skipped or failed once is done. */
static int take(struct bench *b, int step, json_t *record, struct ridge_error *err)
{
    struct taken *taken = &b->taken[step];
    const bool ok = record_is(record, "status", "ok");
    if (session_interrupted() && ok && json_is_null(record_get(record, "time"))) {
        json_decref(record); /* checked but not timed: not a measurement */
        return RIDGE_OK;
    }
    if (ok && taken->record)
        record_join(record, taken->record);
    json_decref(taken->record);
    taken->record = record;
    if (b->round + 1 == b->rounds || !ok)
        return emit(b, step, err);
    if (b->writing)
        set_line(b, step, record_line(record));
    return RIDGE_OK;
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
        struct taken *taken = &b->taken[i];
        if (taken->written)
            continue;
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
            status = runner_run(&s->runner, &problem, step[i - first].entry, &taken->samples, &record, err);
        if (status == RIDGE_OK)
            status = take(b, i, record, err);
    }
    if (open)
        problem_close(&problem);
    return status;
}

static bool same_problem(const struct step *a, const struct step *b)
{
    return a->entry->problem == b->entry->problem && memcmp(a->dim, b->dim, sizeof a->dim) == 0;
}

static int run_round(struct bench *b, struct ridge_error *err)
{
    int status = RIDGE_OK;
    for (int first = 0, last; first < b->plan.count && status == RIDGE_OK && !session_interrupted(); first = last) {
        for (last = first + 1; last < b->plan.count && same_problem(&b->plan.step[first], &b->plan.step[last]); last++)
            ;
        status = modes_resolve(&b->session.runner.modes, b->plan.step[first].entry->problem, err);
        if (status == RIDGE_OK)
            status = run_problem(b, first, last, err);
    }
    return status;
}

/* Counters, which do not drift, are gathered in the last round. Records that the last round did not come to are of the
 * rounds before. */
static int run_plan(struct bench *b, struct ridge_error *err)
{
    struct runner *runner = &b->session.runner;
    const struct metric_group *group = runner->group;
    int status = RIDGE_OK;
    b->began_ns = time_now_ns();
    for (b->round = 0; b->round < b->rounds && status == RIDGE_OK && !session_interrupted(); b->round++) {
        const bool last = b->round + 1 == b->rounds;
        if (b->rounds > 1 && !b->terminal)
            printf("round %d of %d\n", b->round + 1, b->rounds);
        runner->group = last ? group : NULL;
        runner->counters_reason =
            group && !last ? "ended before the last round, which counts" : b->session.counters_reason;
        status = run_round(b, err);
    }
    runner->group = group;
    for (int i = 0; i < b->plan.count; i++)
        if (b->taken[i].record && !b->taken[i].written) {
            int written = emit(b, i, status ? NULL : err);
            status = status ? status : written;
        }
    if (b->terminal)
        fprintf(stderr, "\r\033[K");
    return status;
}

static void free_taken(struct bench *b)
{
    session_pending(-1, NULL, 0);
    for (int i = 0; b->line && i < b->plan.count; i++)
        free(b->line[i]);
    free(b->line);
    for (int i = 0; b->taken && i < b->plan.count; i++) {
        sampler_free(&b->taken[i].samples);
        json_decref(b->taken[i].record);
    }
    free(b->taken);
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
        {"rounds", 'R', "N", 0, "run everything N times in turn, sampling in each, so that all meet the same drift (1)",
         3},
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
    struct bench_options o = {.rounds = 1};
    struct bench b = {.terminal = isatty(STDERR_FILENO)};
    session_defaults(&o.session);
    int status = session_parse(&argp, argc, argv, &o.session, &o, err);
    if (status)
        return status;
    status = session_open(&b.session, &o.session, argc, argv, err);
    if (status == RIDGE_OK)
        status = session_plan(&b.session, b.session.info.device.kind, &b.plan, err);
    b.rounds = o.rounds;
    b.taken = calloc((size_t)b.plan.count + 1, sizeof *b.taken);
    b.line = calloc((size_t)b.plan.count + 1, sizeof *b.line);
    if (status == RIDGE_OK && (!b.taken || !b.line))
        status = ridge_fail(err, RIDGE_ENVIRONMENT, "out of memory for the plan");
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
    session_pending(b.writer.fd, b.line, b.writing ? b.plan.count : 0);
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
    free_taken(&b);
    if (b.writing)
        record_writer_close(&b.writer);
    free(b.plan.step);
    session_close(&b.session);
    return status;
}

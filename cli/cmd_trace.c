/* SPDX-License-Identifier: Apache-2.0 */
/* When the phases of a kernel run, measured inside it: the variant as compiled with stamps, beside the ordinary one,
 * whose time tells what the stamps cost. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/record.h"
#include "bench/shape.h"
#include "bench/trace.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/session.h"
#include "reports/script_chart.h"

struct trace_options {
    struct session_options session;
    const char *out;
};

static int parse(int key, char *value, struct argp_state *state)
{
    struct trace_options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = state->child_inputs[1] = &o->session;
        return 0;
    case 'o':
        o->out = value;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "one VARIANT at a time, '%s' is too many", value);
        o->session.variant = value;
        return 0;
    case ARGP_KEY_END:
        if (!o->session.variant)
            argp_error(state, "which VARIANT?");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct ridge_traced_entry *traced_of(const struct ridge_entry *entry)
{
    for (int i = 0; i < ridge_traced_entry_count; i++)
        if (strcmp(ridge_traced_entries[i].entry.family, entry->family) == 0 &&
            strcmp(ridge_traced_entries[i].entry.label, entry->label) == 0)
            return &ridge_traced_entries[i];
    return NULL;
}

/* Checked and timed; `record` is owned by the caller and of status ok. */
static int run(const struct session *s, struct problem *problem, const struct ridge_entry *entry, json_t **record,
               struct ridge_error *err)
{
    *record = runner_skip(&s->runner, entry, problem->dim);
    int status = *record ? RIDGE_OK : runner_run(&s->runner, problem, entry, NULL, record, err);
    if (status == RIDGE_OK && !record_is(*record, "status", "ok"))
        status = ridge_fail(err, record_is(*record, "status", "skip") ? RIDGE_ENVIRONMENT : RIDGE_REGRESSION, "%s",
                            record_string(*record, "reason"));
    return status;
}

static void print_overlap(const struct trace_overlap *overlap, double mhz)
{
    printf("first CTA: %.1f us\n", overlap->cycles / mhz);
    for (int lane = 0; lane < TRACE_LANES; lane++) {
        double any = 0;
        for (int phase = 0; phase < trace_phases; phase++)
            any += overlap->phase[lane][phase];
        if (any <= 0)
            continue;
        printf("  warpgroup %d:", lane);
        for (int phase = 0; phase < trace_phases; phase++)
            printf(" %s %.1f %%%s", trace_phase_name((enum trace_phase)phase), 100 * overlap->phase[lane][phase],
                   phase + 1 < trace_phases ? "," : "\n");
    }
    printf("  products are queued %.1f %% of the time; softmax takes %.1f %%, %.1f %% of it under products\n",
           100 * overlap->queued, 100 * overlap->softmax,
           overlap->softmax > 0 ? 100 * overlap->covered / overlap->softmax : 0);
}

/* JSON and figure of what the last launch left. */
static int write_trace(const struct session *s, const struct step *step, const struct ridge_traced_entry *traced,
                       const json_t *record, double slowdown, const char *dir, struct ridge_error *err)
{
    static trace_lane lanes[TRACE_CTAS * TRACE_LANES];
    struct trace_spans spans;
    char shape[256], name[192], note[1024];
    const double mhz = record_number(record, "clock.sm_mhz.median");
    if (traced->trace->read(lanes))
        return ridge_fail(err, RIDGE_ENVIRONMENT, "the stamps could not be copied from the device");
    int status = trace_spans_of((const trace_lane *)lanes, &spans, err);
    if (status)
        return status;
    const struct trace_overlap overlap = trace_overlap_of(&spans, 0);
    shape_name(step->entry->problem, step->dim, shape, sizeof shape);
    snprintf(name, sizeof name, "trace_%s_%s", step->entry->family, step->entry->label);
    json_t *about = json_pack(
        "{s:s, s:s, s:s, s:s, s:f, s:f, s:f, s:f}", "variant", record_string(record, "variant.name"), "shape", shape,
        "device", s->info.name, "git", record_string(record, "run.git"), "sm_mhz", mhz, "slowdown", slowdown, "queued",
        overlap.queued, "covered_softmax", overlap.softmax > 0 ? overlap.covered / overlap.softmax : 0.0);
    json_t *json = trace_json(&spans, mhz, about);
    print_overlap(&overlap, mhz);
    printf("  stamps cost %.1f %% of the time\n", 100 * (slowdown - 1));
    status = script_chart_draw(dir, name, "trace_chart", "figure", json, note, sizeof note, err);
    if (status == RIDGE_OK)
        printf("%s/%s.json%s%s\n", dir, name, *note ? "\n" : " and .png", note);
    json_decref(json);
    json_decref(about);
    trace_spans_free(&spans);
    return status;
}

static int trace_step(struct session *s, const struct step *step, const char *dir, struct ridge_error *err)
{
    const struct ridge_traced_entry *traced = traced_of(step->entry);
    struct problem problem;
    json_t *plain = NULL, *stamped = NULL;
    session_running(step->entry, step->dim);
    int status = problem_open(&problem, s->ops, &s->info.device, step->entry->problem, step->dim, s->options.modes.fill,
                              0, s->options.seed, err);
    if (status)
        return status;
    status = modes_resolve(&s->runner.modes, step->entry->problem, err);
    if (status == RIDGE_OK)
        status = problem_reference(&problem, session_reference(s, step), err);
    if (status == RIDGE_OK)
        status = run(s, &problem, step->entry, &plain, err);
    if (status == RIDGE_OK && !session_interrupted())
        status = run(s, &problem, &traced->entry, &stamped, err);
    if (status == RIDGE_OK && !session_interrupted()) /* both have their times */
        status =
            write_trace(s, step, traced, stamped,
                        record_number(stamped, "time.median_ns") / record_number(plain, "time.median_ns"), dir, err);
    json_decref(plain);
    json_decref(stamped);
    problem_close(&problem);
    return status;
}

static void add_name(char *list, size_t bytes, const char *name)
{
    const size_t used = strlen(list);
    snprintf(list + used, bytes - used, "%s%s", used ? ", " : "", name);
}

/* Before a device is opened: the one variant that is meant, by its full name in `name`, and that it is compiled with
 * stamps. */
static int choose(struct session_options *options, char *name, size_t bytes, struct ridge_error *err)
{
    char all[512] = "", meant[512] = "";
    int count = 0;
    for (int i = 0; i < ridge_traced_entry_count; i++) {
        const struct ridge_entry *entry = &ridge_traced_entries[i].entry;
        registry_name(entry, name, bytes);
        add_name(all, sizeof all, name);
        if (!registry_match(entry, options->family, options->variant))
            continue;
        add_name(meant, sizeof meant, name);
        count++;
    }
    if (count == 0)
        return ridge_fail(err, RIDGE_INVALID, "'%s' is not compiled with stamps; these are: %s", options->variant,
                          *all ? all : "none, in a build without CUDA");
    if (count > 1)
        return ridge_fail(err, RIDGE_INVALID, "one VARIANT at a time, '%s' means %s", options->variant, meant);
    snprintf(name, bytes, "%s", meant);
    options->variant = name;
    return RIDGE_OK;
}

int cmd_trace(int argc, char **argv, struct ridge_error *err)
{
    static const struct argp_option options[] = {
        {"out", 'o', "DIR", 0, "where trace_VARIANT.json, .png and .svg go (default: here)", 4},
        {0},
    };
    const struct argp_child children[] = {{&session_selection_argp, 0, NULL, 1}, {&session_mode_argp, 0, NULL, 2}, {0}};
    const struct argp argp = {
        options,
        parse,
        "VARIANT",
        "When the phases of a kernel run and what overlaps, from clock stamps inside it. The JSON is "
        "Chrome's trace format, which Perfetto opens.",
        children,
        NULL,
        NULL};
    struct trace_options o = {.out = "."};
    struct session session;
    struct plan plan = {0};
    char name[192];
    session_defaults(&o.session);
    o.session.level = RIDGE_STANDARD;
    o.session.group = "none";
    int status = session_parse(&argp, argc, argv, &o.session, &o, err);
    if (status == RIDGE_OK)
        status = choose(&o.session, name, sizeof name, err);
    if (status)
        return status;
    status = session_open(&session, &o.session, argc, argv, err);
    if (status == RIDGE_OK)
        status = session_plan(&session, session.info.device.kind, &plan, err);
    if (status == RIDGE_OK)
        status = inputs_make_folder(o.out, err);
    for (int i = 0; i < plan.count && status == RIDGE_OK && !session_interrupted(); i++)
        if (traced_of(plan.step[i].entry)) {
            status = trace_step(&session, &plan.step[i], o.out, err);
            break;
        }
    if (status == RIDGE_OK && session_interrupted())
        status = ridge_fail(err, RIDGE_ENVIRONMENT, "interrupted");
    free(plan.step);
    session_close(&session);
    return status;
}

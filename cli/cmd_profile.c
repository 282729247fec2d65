/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/record.h"
#include "cli/commands.h"
#include "cli/session.h"

struct profile_options {
    struct session_options session;
    const char *json;
};

static int parse(int key, char *value, struct argp_state *state)
{
    struct profile_options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = state->child_inputs[1] = &o->session;
        return 0;
    case 'g':
        o->session.group = value;
        return 0;
    case 'j':
        o->json = value;
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

static void print_counters(const struct metric_group *group, const json_t *record)
{
    const json_t *values = record_get(record, "counters.values");
    printf("%s %s, %.3f us, group %s: %s\n", record_string(record, "variant.name"), record_string(record, "shape.name"),
           record_number(record, "time.median_ns") / 1e3, group->name, group->meaning);
    for (size_t i = 0; i < group->count; i++) {
        const json_t *value = json_object_get(values, group->metric[i].name);
        if (json_is_number(value))
            printf("  %-64s %16.6g %-10s %s\n", group->metric[i].name, json_number_value(value), group->metric[i].unit,
                   group->metric[i].meaning);
        else
            printf("  %-64s %16s\n", group->metric[i].name, "no value");
    }
    printf("  %.0f passes, spread of %s over them %.2f%%\n", record_number(record, "counters.passes"), COUNTERS_ANCHOR,
           record_number(record, "counters.spread") * 100);
}

static int profile_step(struct session *s, const struct step *step, struct record_writer *writer, struct ridge_error *err)
{
    struct problem problem;
    session_running(step->entry, step->dim);
    json_t *record = runner_skip(&s->runner, step->entry, step->dim);
    if (record) {
        int skipped = ridge_fail(err, RIDGE_ENVIRONMENT, "%s", record_string(record, "reason"));
        json_decref(record);
        return skipped;
    }
    int status = problem_open(&problem, s->ops, &s->info.device, step->entry->problem, step->dim, s->options.modes.fill,
                              0, s->options.seed, err);
    if (status)
        return status;
    status = modes_resolve(&s->runner.modes, step->entry->problem, err);
    if (status == RIDGE_OK)
        status = problem_reference(&problem, s->ops == &device_cuda ? step->entry->reference : NULL, err);
    if (status == RIDGE_OK)
        status = runner_run(&s->runner, &problem, step->entry, NULL, &record, err);
    if (status == RIDGE_OK && writer->path)
        status = record_writer_append(writer, record, err);
    if (status == RIDGE_OK && session_interrupted())
        status = ridge_fail(err, RIDGE_ENVIRONMENT, "interrupted"); /* before the counters, or while they were read */
    else if (status == RIDGE_OK && !record_is(record, "status", "ok"))
        status = ridge_fail(err, RIDGE_REGRESSION, "%s", record_string(record, "reason"));
    else if (status == RIDGE_OK && !record_is(record, "counters.source", "cupti"))
        status = ridge_fail(err, RIDGE_ENVIRONMENT, "%s", record_string(record, "counters.reason"));
    else if (status == RIDGE_OK)
        print_counters(&s->group, record);
    json_decref(record);
    problem_close(&problem);
    return status;
}

int cmd_profile(int argc, char **argv, struct ridge_error *err)
{
    static const struct argp_option options[] = {
        {"group", 'g', "GROUP", 0, "roofline (default), memory, tensor, stalls, instructions, or a JSON file", 4},
        {"json", 'j', "FILE", 0, "append one record a line; - is standard output", 4},
        {0},
    };
    const struct argp_child children[] = {{&session_selection_argp, 0, NULL, 1}, {&session_mode_argp, 0, NULL, 2}, {0}};
    const struct argp argp = {options, parse, "VARIANT", "Hardware counters of a variant on each selected shape.", children,
                              NULL, NULL};
    struct profile_options o = {0};
    struct session session;
    struct plan plan = {0};
    struct record_writer writer = {.fd = -1};
    session_defaults(&o.session);
    o.session.level = RIDGE_QUICK;
    int status = session_parse(&argp, argc, argv, &o.session, &o, err);
    if (status)
        return status;
    status = session_open(&session, &o.session, argc, argv, err);
    if (status == RIDGE_OK)
        status = session_plan(&session, session.info.device.kind, &plan, err);
    if (status == RIDGE_OK && session.counters_reason[0])
        status = ridge_fail(err, RIDGE_ENVIRONMENT, "no counters: %s", session.counters_reason);
    if (status == RIDGE_OK && o.json)
        status = session_open_writer(&writer, o.json, err);
    for (int i = 0; i < plan.count && status == RIDGE_OK && !session_interrupted(); i++)
        status = profile_step(&session, &plan.step[i], &writer, err);
    if (status == RIDGE_OK && session_interrupted())
        status = ridge_fail(err, RIDGE_ENVIRONMENT, "interrupted");
    if (writer.path)
        record_writer_close(&writer);
    free(plan.step);
    session_close(&session);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Checks every selected variant on the family's small shapes, on random and on hard inputs, against the C reference;
 * and the GPU reference likewise, as a variant with the label "reference". */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "bench/record.h"
#include "bench/shape.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/session.h"

struct check_options {
    struct session_options session;
    const char *json, *cases; /* cases: glob; NULL: all */
};

struct checking {
    struct session session;
    struct record_writer writer;
    const char *cases;
    bool writing, shape_found, case_found;
    int passed, skipped, failed;
};

static int parse(int key, char *value, struct argp_state *state)
{
    struct check_options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->session;
        return 0;
    case 'j':
        o->json = value;
        return 0;
    case 'C':
        o->cases = value;
        return 0;
    case 'T':
        return session_take_plan(&o->session, value);
    case 'E':
        modes_parse_emulate(&o->session.modes, value, o->session.error.text[0] ? NULL : &o->session.error);
        return 0;
    default:
        return inputs_none(key, value, state);
    }
}

static const char *case_name(const struct ridge_family *family, int hard)
{
    return hard ? family->cases[hard - 1] : "random";
}

static int check_entry(struct checking *c, struct problem *problem, const struct ridge_entry *entry, int hard,
                       struct ridge_error *err)
{
    char name[256];
    session_running(entry, problem->dim);
    json_t *record = runner_skip(&c->session.runner, entry, problem->dim);
    int status = record ? RIDGE_OK : runner_run(&c->session.runner, problem, entry, NULL, &record, err);
    if (status)
        return status;
    shape_name(problem->family, problem->dim, name, sizeof name);
    c->passed += record_is(record, "status", "ok");
    c->skipped += record_is(record, "status", "skip");
    if (record_is(record, "status", "fail")) {
        c->failed++;
        printf("FAIL %s_%s %s %s: %s\n", entry->family, entry->label, name, case_name(problem->family, hard),
               record_string(record, "reason"));
    }
    if (c->writing)
        status = record_writer_append(&c->writer, record, err);
    json_decref(record);
    return status;
}

static int check_reference(struct checking *c, struct problem *problem, const struct ridge_entry *entry, int hard,
                           struct ridge_error *err)
{
    double worst;
    char name[256];
    int status = problem_compare_references(problem, entry->reference, &worst, err);
    if (status)
        return status;
    shape_name(problem->family, problem->dim, name, sizeof name);
    bool good = worst <= 0.5; /* the reference may use up at most half of what variants are allowed */
    c->passed += good;
    c->failed += !good;
    if (!good)
        printf("FAIL %s GPU reference %s %s: off by %.3g times the tolerance\n", entry->family, name,
               case_name(problem->family, hard), worst);
    return RIDGE_OK;
}

/* All selected variants from `first` on that share its family, on one shape and case; against `large` where the C
 * reference would take too long. */
static int check_shape(struct checking *c, int first, const int64_t *dim, int hard, ridge_reference_fn large,
                       struct ridge_error *err)
{
    struct session *s = &c->session;
    const struct ridge_entry *entry = s->registry.entry[first];
    struct problem problem;
    const struct ridge_entry reference = {.problem = entry->problem, .family = entry->family, .label = "reference"};
    session_running(&reference, dim);
    if (entry->reference && s->ops == &device_cuda && !large &&
        registry_match(&reference, s->options.family, s->options.variant)) {
        int status = problem_open(&problem, s->ops, &s->info.device, entry->problem, dim, FILL_RANDOM, hard,
                                  s->options.seed, err);
        if (status)
            return status;
        status = check_reference(c, &problem, entry, hard, err);
        problem_close(&problem);
        if (status)
            return status;
    }
    int status =
        problem_open(&problem, s->ops, &s->info.device, entry->problem, dim, FILL_RANDOM, hard, s->options.seed, err);
    if (status)
        return status;
    status = problem_reference(&problem, large, err);
    for (int i = first; i < s->registry.count && status == RIDGE_OK && !session_interrupted(); i++) {
        const struct ridge_entry *other = s->registry.entry[i];
        if (strcmp(other->family, entry->family) == 0 && other->variant->kind == s->info.device.kind &&
            registry_match(other, s->options.family, s->options.variant))
            status = check_entry(c, &problem, other, hard, err);
    }
    problem_close(&problem);
    return status;
}

/* Whether one of the globs of --shape matches. */
static bool named(const struct session_options *o, const char *name)
{
    for (int i = 0; i < o->shapes; i++)
        if (!strchr(o->shape[i], '=') && fnmatch(o->shape[i], name, 0) == 0)
            return true;
    return false;
}

/* Without --shape all small shapes are selected. */
static bool selected(const struct session_options *o, const struct ridge_family *family, const int64_t *dim)
{
    char name[256];
    shape_name(family, dim, name, sizeof name);
    return o->shapes == 0 || named(o, name);
}

/* Shapes of ridge bench, by name only: "mtp-*". */
static int check_presets(struct checking *c, int first, int hard, struct ridge_error *err)
{
    const struct ridge_family *family = c->session.registry.entry[first]->problem;
    int status = RIDGE_OK;
    for (int i = 0; i < family->shapes && status == RIDGE_OK && !session_interrupted(); i++) {
        struct step step = {.entry = c->session.registry.entry[first]};
        if (family->shape[i].kind != c->session.info.device.kind || !named(&c->session.options, family->shape[i].name))
            continue;
        c->shape_found = true;
        memcpy(step.dim, family->shape[i].dim, sizeof step.dim);
        status = check_shape(c, first, step.dim, hard, session_reference(&c->session, &step), err);
    }
    return status;
}

/* The family's small shapes that are selected, shapes that --shape names, then those that it spells out. */
static int check_case(struct checking *c, int first, int hard, struct ridge_error *err)
{
    const struct session_options *o = &c->session.options;
    const struct ridge_family *family = c->session.registry.entry[first]->problem;
    int status = RIDGE_OK;
    for (int i = 0; i < family->check_dims && status == RIDGE_OK && !session_interrupted(); i++) {
        if (!selected(o, family, family->check_dim[i]))
            continue;
        c->shape_found = true;
        status = check_shape(c, first, family->check_dim[i], hard, NULL, err);
    }
    if (status == RIDGE_OK)
        status = check_presets(c, first, hard, err);
    for (int i = 0; i < o->shapes && status == RIDGE_OK && !session_interrupted(); i++) {
        struct step step = {.entry = c->session.registry.entry[first]};
        struct ridge_error reason = {""};
        if (!strchr(o->shape[i], '=') || session_for_others(&c->session, family, o->shape[i]))
            continue;
        c->shape_found = true;
        if (family->check_dims > 0)
            memcpy(step.dim, family->check_dim[0], sizeof step.dim);
        status = shape_parse(family, o->shape[i], step.dim, &reason);
        if (status)
            ridge_fail(err, status, "%s: %s", step.entry->family, reason.text);
        if (status == RIDGE_OK)
            status = check_shape(c, first, step.dim, hard, session_reference(&c->session, &step), err);
    }
    return status;
}

static int check_family(struct checking *c, int first, struct ridge_error *err)
{
    const struct ridge_family *family = c->session.registry.entry[first]->problem;
    int status = RIDGE_OK;
    for (int hard = 0; status == RIDGE_OK && (hard == 0 || (family->cases && family->cases[hard - 1])); hard++) {
        if (c->cases && fnmatch(c->cases, case_name(family, hard), 0) != 0)
            continue;
        c->case_found = true;
        status = check_case(c, first, hard, err);
    }
    return status;
}

static int check_all(struct checking *c, struct ridge_error *err)
{
    const struct session *s = &c->session;
    const char *last = "";
    int status = RIDGE_OK;
    session_tell_left_out(s);
    for (int i = 0; i < s->registry.count && status == RIDGE_OK && !session_interrupted(); i++) {
        const struct ridge_entry *entry = s->registry.entry[i];
        if (strcmp(entry->family, last) == 0 || entry->variant->kind != s->info.device.kind ||
            !registry_match(entry, s->options.family, s->options.variant))
            continue;
        last = entry->family;
        status = check_family(c, i, err);
    }
    return status;
}

static int no_shape(const struct session *s, struct ridge_error *err)
{
    char spelt[200];
    session_hint(s, s->options.shape[0], spelt, sizeof spelt);
    return ridge_fail(err, RIDGE_INVALID, "--shape=%.80s: no shape of ridge check matches%s", s->options.shape[0],
                      spelt);
}

static int nothing_to_check(const struct session *s, struct ridge_error *err)
{
    bool elsewhere = registry_left_out(s->options.family, s->options.variant);
    for (int i = 0; i < s->registry.count; i++)
        elsewhere |= s->registry.entry[i]->variant->kind != s->info.device.kind &&
                     registry_match(s->registry.entry[i], s->options.family, s->options.variant);
    if (elsewhere && s->device_note[0])
        return ridge_fail(err, RIDGE_ENVIRONMENT, "nothing to check: what is selected needs a GPU (%s)",
                          s->device_note);
    return ridge_fail(err, RIDGE_INVALID, "nothing to check: no variant of this device is selected");
}

int cmd_check(int argc, char **argv, struct ridge_error *err)
{
    static const struct argp_option options[] = {
        {"json", 'j', "FILE", 0, "append one record a line; - is standard output", 4},
        {"case", 'C', "GLOB", 0, "random, or hard inputs by name (default: all)", 4},
        {"plan", 'T', "PLAN", 0, "what a variant with a choice runs, as ridge tune lists it", 4},
        {"emulate", 'E', "DEVICE", 0, "none (default) or h20, as ridge bench has it", 4},
        {0},
    };
    const struct argp_child children[] = {{&session_selection_argp, 0, NULL, 1}, {0}};
    const struct argp argp = {options,  parse, NULL, "Checks variants on small shapes, random and hard inputs.",
                              children, NULL,  NULL};
    struct check_options o = {0};
    struct checking c = {0};
    session_defaults(&o.session);
    o.session.group = "none";
    int status = session_parse(&argp, argc, argv, &o.session, &o, err);
    if (status)
        return status;
    status = session_open(&c.session, &o.session, argc, argv, err);
    c.session.runner.time = false;
    c.cases = o.cases;
    if (status == RIDGE_OK)
        status = session_refuse(&c.session, err);
    if (status == RIDGE_OK && o.json) {
        status = session_open_writer(&c.writer, o.json, err);
        c.writing = status == RIDGE_OK;
    }
    if (status == RIDGE_OK)
        status = check_all(&c, err);
    if (status == RIDGE_OK) {
        printf("%s: %d checks passed, %d skipped, %d failed\n", c.session.info.name, c.passed, c.skipped, c.failed);
        if (session_interrupted())
            status = ridge_fail(err, RIDGE_ENVIRONMENT, "interrupted");
        else if (c.failed)
            status = ridge_fail(err, RIDGE_REGRESSION, "%d checks failed", c.failed);
        else if (c.cases && !c.case_found)
            status = ridge_fail(err, RIDGE_INVALID, "--case=%s: no inputs of that name", c.cases);
        else if (c.session.options.shapes && c.case_found && !c.shape_found)
            status = no_shape(&c.session, err);
        else if (c.passed + c.skipped == 0)
            status = nothing_to_check(&c.session, err);
    }
    if (c.writing)
        record_writer_close(&c.writer);
    session_close(&c.session);
    return status;
}

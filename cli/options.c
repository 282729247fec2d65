/* SPDX-License-Identifier: Apache-2.0 */
/* The option groups that list, bench, check and profile share. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/session.h"

void session_defaults(struct session_options *options)
{
    *options = (struct session_options){
        .device = "auto",
        .level = RIDGE_STANDARD,
        .modes = MODES_DEFAULT,
        .limits = {.min_samples = 15, .max_samples = 200, .warmup = 3, .rel_ci = 0.004, .budget_ns = 0.5e9},
        .group = "roofline",
        .seed = 1,
    };
}

static int refuse(struct session_options *o, const char *option, const char *value, const char *rule)
{
    if (!o->error.text[0])
        ridge_fail(&o->error, RIDGE_INVALID, "--%s=%s: %s", option, value, rule);
    return 0;
}

static int push(struct session_options *o, const char **list, int *count, const char *option, const char *value)
{
    if (*count == SESSION_MAX_LIST)
        return refuse(o, option, value, "given too often, at most 16 times");
    list[(*count)++] = value;
    return 0;
}

/* An option given again adds a glob. */
static int join(struct session_options *o, const char *option, const char **globs, char (*room)[512], const char *value)
{
    char joined[sizeof *room];
    if (!*globs) {
        *globs = value;
        return 0;
    }
    if (snprintf(joined, sizeof joined, "%s|%s", *globs, value) >= (int)sizeof joined)
        return refuse(o, option, value, "given too often, 511 characters are allowed in all");
    memcpy(*room, joined, sizeof joined);
    *globs = *room;
    return 0;
}

static int parse_level(struct session_options *o, const char *value)
{
    static const char *const names[] = {"quick", "standard", "full"};
    for (int i = 0; i < 3; i++)
        if (strcmp(value, names[i]) == 0) {
            o->level = (enum ridge_level)i;
            return 0;
        }
    return refuse(o, "preset", value, "allowed are quick, standard, full");
}

static int parse_selection(int key, char *value, struct argp_state *state)
{
    struct session_options *o = state->input;
    switch (key) {
    case 'f':
        return join(o, "family", &o->family, &o->families, value);
    case 'v':
        return join(o, "variant", &o->variant, &o->variants, value);
    case 's':
        return push(o, o->shape, &o->shapes, "shape", value);
    case 'L':
        return push(o, o->load, &o->loads, "load", value);
    case 'p':
        return parse_level(o, value);
    case 'd':
        if (strcmp(value, "auto") && strcmp(value, "cuda") && strcmp(value, "host"))
            return refuse(o, "device", value, "allowed are auto, cuda, host");
        o->device = value;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int session_take_plan(struct session_options *o, const char *value)
{
    for (const char *c = value; *c; c++)
        if (!isgraph((unsigned char)*c))
            return refuse(o, "plan", value, "a plan is one word");
    if (!*value || strlen(value) >= RIDGE_PLAN_BYTES)
        return refuse(o, "plan", value, "a plan has 1 to 63 characters");
    o->plan = value;
    return 0;
}

static int parse_mode(int key, char *value, struct argp_state *state)
{
    struct session_options *o = state->input;
    struct ridge_error *err = o->error.text[0] ? NULL : &o->error;
    char *end;
    switch (key) {
    case 'c':
        modes_parse_cache(&o->modes, value, err);
        return 0;
    case 'C':
        modes_parse_cold(&o->modes, value, err);
        return 0;
    case 'l':
        modes_parse_launch(&o->modes, value, err);
        return 0;
    case 'P':
        modes_parse_power(&o->modes, value, err);
        return 0;
    case 'F':
        modes_parse_fill(&o->modes, value, err);
        return 0;
    case 'E':
        modes_parse_emulate(&o->modes, value, err);
        return 0;
    case 'T':
        return session_take_plan(o, value);
    case 'S':
        errno = 0;
        o->seed = strtoull(value, &end, 0);
        return *end || errno || !isdigit((unsigned char)*value) ? refuse(o, "seed", value, "not an integer of 0 .. 2^64-1") : 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static double parse_positive(struct session_options *o, const char *option, const char *value, double min, double max)
{
    char *end;
    double number = strtod(value, &end);
    if (*end || end == value || !(number >= min && number <= max)) {
        char rule[96];
        snprintf(rule, sizeof rule, "not a number of %g .. %g", min, max);
        refuse(o, option, value, rule);
    }
    return number;
}

static int parse_sampling(int key, char *value, struct argp_state *state)
{
    struct session_options *o = state->input;
    switch (key) {
    case 'm':
        o->limits.min_samples = (size_t)parse_positive(o, "min-samples", value, 1, 1e6);
        o->least = true;
        return 0;
    case 'M':
        o->limits.max_samples = (size_t)parse_positive(o, "max-samples", value, 1, 1e6);
        o->most = true;
        return 0;
    case 'r':
        o->limits.rel_ci = parse_positive(o, "rel-ci", value, 0, 100) / 100;
        return 0;
    case 't':
        o->limits.budget_ns = parse_positive(o, "timeout", value, 1e-3, 1e6) * 1e9;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option selection_options[] = {
    {"family", 'f', "GLOB", 0, "families, such as 'gemm_*'; repeatable", 1},
    {"variant", 'v', "GLOB", 0, "variants by label or full name; repeatable", 1},
    {"filter", 'v', NULL, OPTION_ALIAS, NULL, 1},
    {"shape", 's', "SHAPE", 0,
     "'m=4096,n=512,k=64' (axes left out: those of the first shape), for families that have these axes, or a glob on "
     "shape names; repeatable",
     1},
    {"preset", 'p', "LEVEL", 0, "quick, standard (default) or full", 1},
    {"device", 'd', "KIND", 0, "auto (default), cuda, host", 1},
    {"load", 'L', "LIB", 0, "add the variants of a shared object; repeatable", 1},
    {0},
};
static const struct argp_option mode_options[] = {
    {"cache", 'c', "MODE", 0, "cold (default), hot, or by operand: a=hot,b=cold", 2},
    {"cold", 'C', "METHOD", 0, "dirty (default: memset of 4 x L2) or clean (read)", 2},
    {"launch", 'l', "MODE", 0, "stream (default) or graph (CUDA)", 2},
    {"power", 'P', "MODE", 0, "burst (default) or steady", 2},
    {"fill", 'F', "DATA", 0, "random (default), ones, zeros, outliers", 2},
    {"emulate", 'E', "DEVICE", 0, "none (default) or h20: 78 SMs, tensor cores at a quarter (variants compiled for it)", 2},
    {"plan", 'T', "PLAN", 0, "what a variant with a choice runs, as ridge tune lists it (default: its own choice)", 2},
    {"seed", 'S', "N", 0, "of inputs and bootstrap (default 1)", 2},
    {0},
};
static const struct argp_option sampling_options[] = {
    {"min-samples", 'm', "N", 0, "look at the interval from so many on (default 15); --timeout can stop from 6 on", 3},
    {"max-samples", 'M', "N", 0, "at most so many (default 200)", 3},
    {"rel-ci", 'r', "PCT", 0, "stop when the median's 95% interval is that narrow (0.4)", 3},
    {"timeout", 't', "S", 0, "sampling time of one variant and shape (default 0.5)", 3},
    {0},
};

const struct argp session_selection_argp = {selection_options, parse_selection, NULL, NULL, NULL, NULL, NULL};
const struct argp session_mode_argp = {mode_options, parse_mode, NULL, NULL, NULL, NULL, NULL};
const struct argp session_sampling_argp = {sampling_options, parse_sampling, NULL, NULL, NULL, NULL, NULL};

static void order_samples(struct session_options *o)
{
    struct sampler_limits *limits = &o->limits;
    char value[32], rule[64];
    if (limits->min_samples <= limits->max_samples)
        return;
    snprintf(value, sizeof value, "%zu", limits->min_samples);
    snprintf(rule, sizeof rule, "more than --max-samples=%zu", limits->max_samples);
    if (o->least && o->most)
        refuse(o, "min-samples", value, rule);
    else if (o->least)
        limits->max_samples = limits->min_samples;
    else
        limits->min_samples = limits->max_samples;
}

int session_parse(const struct argp *argp, int argc, char **argv, struct session_options *options, void *input,
                  struct ridge_error *err)
{
    int failed = argp_parse(argp, argc, argv, 0, NULL, input);
    if (failed)
        return ridge_fail(err, RIDGE_INVALID, "%s", strerror(failed));
    order_samples(options);
    return options->error.text[0] ? ridge_fail(err, RIDGE_INVALID, "%s", options->error.text) : RIDGE_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What the measuring commands share: selection options, the open device, the plan of what to run. */
#ifndef RIDGE_SESSION_H
#define RIDGE_SESSION_H

#include <argp.h>
#include <stdbool.h>

#include "bench/record.h"
#include "bench/registry.h"
#include "bench/runner.h"

enum { SESSION_MAX_LIST = 16 };

struct session_options {
    const char *family, *variant; /* globs, as registry_match takes them */
    char families[512], variants[512]; /* where --family or --variant is given several times */
    const char *shape[SESSION_MAX_LIST];
    int shapes;
    const char *load[SESSION_MAX_LIST];
    int loads;
    const char *device; /* auto cuda host */
    enum ridge_level level;
    struct modes modes;
    struct sampler_limits limits;
    bool least, most; /* --min-samples, --max-samples are given: one alone moves the other's default */
    const char *group; /* "none": no counters */
    const char *plan;  /* NULL: variants choose */
    uint64_t seed;
    struct ridge_error error; /* of a refused option value */
};

/* Option groups as argp children; their input is a struct session_options. */
extern const struct argp session_selection_argp; /* --family --variant --filter --shape --preset --device --load */
extern const struct argp session_mode_argp;      /* --cache --cold --launch --power --fill --emulate --plan --seed */
extern const struct argp session_sampling_argp;  /* --min-samples --max-samples --rel-ci --timeout */

/* The value of --plan; 0, as argp parsers return it. */
int session_take_plan(struct session_options *options, const char *value);

void session_defaults(struct session_options *options);

/* Parses with argp; a refused value is RIDGE_INVALID with its message. */
int session_parse(const struct argp *argp, int argc, char **argv, struct session_options *options, void *input,
                  struct ridge_error *err);

struct session {
    struct session_options options;
    struct registry registry;
    const struct device_ops *ops;
    struct device_info info;
    struct timer_quality timer;
    struct metric_group group;
    struct runner runner;
    char run_id[64], counters_reason[512], device_note[512];
};

/* Loads plugins, opens the device ("auto": CUDA if there is one, else the host, with device_note saying why), the
 * metric group and counters, and installs the handler of Ctrl-C and SIGTERM: a flag, and the end of
 * the program where that is not heeded within seconds. */
int session_open(struct session *session, const struct session_options *options, int argc, char **argv,
                 struct ridge_error *err);
int session_open_registry(struct session *session, const struct session_options *options, struct ridge_error *err);
void session_close(struct session *session);

/* Opens the file of --json. Where that is standard output ("-" too), text goes to standard error from here on. */
int session_open_writer(struct record_writer *writer, const char *path, struct ridge_error *err);

/* Installs the handlers; part of session_open. */
void session_handle_signals(void);
/* What to name should the program crash. */
void session_running(const struct ridge_entry *entry, const int64_t *dim);
bool session_interrupted(void);

/* Lines of measurements that go on. Should a signal end the program, its handler appends those that are not NULL to
 * `fd`, first come first. NULL: none from here on. */
void session_pending(int fd, char *const *line, int count);

/* One thing to run; steps of one family and shape are adjacent. */
struct step {
    const struct ridge_entry *entry;
    int64_t dim[RIDGE_MAX_AXES];
};
struct plan {
    struct step *step; /* owned */
    int count;
};

/* Whether a preset is selected: by level when no --shape is given, else by a glob on its name or its values. */
bool session_selects(const struct session_options *o, const struct ridge_family *family,
                     const struct ridge_shape *shape);

/* Whether a shape "axis=value,..." is meant for other selected families: they have its axes and this one has not. */
bool session_for_others(const struct session *session, const struct ridge_family *family, const char *shape);

/* A line on standard error for each selected family of which every --shape is for others. session_plan does so. */
void session_tell_left_out(const struct session *session);

/* Operations and bytes, as a measure of how long a step takes. */
double step_cost(const struct step *step);

/* The GPU reference where there is one and the C reference would take too long, else NULL. */
ridge_reference_fn session_reference(const struct session *session, const struct step *step);

/* Every selected variant of `kind` on every selected shape. RIDGE_INVALID when a glob or shape selects nothing,
 * RIDGE_ENVIRONMENT when all of it needs a GPU that is not there. */
int session_plan(const struct session *session, enum ridge_kind kind, struct plan *plan, struct ridge_error *err);

/* Where a --shape that is no preset is numbers, how a shape is spelt: 4x4x4 is meant as m=4,n=4,k=4. Else empty. */
void session_hint(const struct session *session, const char *shape, char *text, size_t bytes);

/* RIDGE_INVALID for options that nothing selected can follow: graphs on the host, a plan where no variant has plans.
 * Part of session_plan. */
int session_refuse(const struct session *session, struct ridge_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/whole_file.h"
#include "bench/record.h"
#include "reports/compare.h"

struct compare_args {
    const char *base, *now, *junit, *markdown;
    double threshold_percent;
};

static bool is_standard(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct compare_args *args = state->input;
    char *end = NULL;
    switch (key) {
    case 't':
        args->threshold_percent = strtod(arg, &end);
        if (end == arg || *end || !(args->threshold_percent >= 0.0 && args->threshold_percent < 100.0))
            argp_error(state, "--threshold=%s: a percentage from 0 to below 100 is needed", arg);
        return 0;
    case 'j':
        args->junit = arg;
        return 0;
    case 'm':
        args->markdown = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (args->now)
            argp_error(state, "'%s' is one file too many: BASE and NEW are compared", arg);
        *(args->base ? &args->now : &args->base) = arg;
        return 0;
    case ARGP_KEY_END:
        if (!args->now)
            argp_error(state, "two record files are needed: BASE and NEW");
        else if (is_standard(args->base) && is_standard(args->now))
            argp_error(state, "BASE and NEW cannot both be standard input");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int write_junit(const struct comparison *comparison, FILE *out, struct ridge_error *err)
{
    (void)err;
    compare_junit(comparison, out);
    return RIDGE_OK;
}

static int write_one(const struct comparison *comparison, const char *path,
                     int (*write)(const struct comparison *comparison, FILE *out, struct ridge_error *err),
                     struct ridge_error *err)
{
    struct whole_file file;
    if (is_standard(path)) {
        int status = write(comparison, stdout, err);
        if (!status && (fflush(stdout) != 0 || ferror(stdout)))
            status = ridge_fail(err, RIDGE_ENVIRONMENT, "%s: %s", path, strerror(errno));
        return status;
    }
    int status = whole_file_open(&file, path, err);
    return status ? status : whole_file_close(&file, write(comparison, file.stream, err), err);
}

static int write_files(const struct comparison *comparison, const struct compare_args *args, struct ridge_error *err)
{
    int status = args->junit ? write_one(comparison, args->junit, write_junit, err) : RIDGE_OK;
    return status || !args->markdown ? status : write_one(comparison, args->markdown, compare_markdown, err);
}

int cmd_compare(int argc, char **argv, struct ridge_error *err)
{
    static const struct argp_option options[] = {
        {"threshold", 't', "PCT", 0, "what counts as a difference (default 2 %)", 0},
        {"junit", 'j', "FILE", 0,
         "also write JUnit XML; - is standard output, and the table then goes to standard error", 0},
        {"markdown", 'm', "FILE", 0, "also write a Markdown summary; - as above", 0},
        {0},
    };
    static const struct argp argp = {
        options,
        parse,
        "BASE NEW",
        "Compares two record files pair by pair: variant, shape, mode and device.\v"
        "A device of NEW that is not in BASE is held against BASE's of the same kind, and the pair is not comparable "
        "where the "
        "models differ. "
        "A pair is slower when the whole interval of new / base lies above 1 + threshold. Slower with the same device "
        "code is environment and no regression. Another unit of the same GPU model or another driver patch is compared "
        "by ratio to the vendor variant of the family.\n"
        "Exit codes, the first that applies: 2 invalid input, 4 not comparable (GPU model, driver branch, clock, "
        "nothing in common), 1 regression, 3 more than 5 % of the pairs inconclusive, 0 no regression.",
        NULL,
        NULL,
        NULL};
    struct compare_args args = {.threshold_percent = 2.0};
    struct record_list base = {0}, now = {0};
    struct comparison comparison = {0};
    if (argp_parse(&argp, argc, argv, 0, NULL, &args) != 0)
        return ridge_fail(err, RIDGE_INVALID, "compare: invalid arguments");
    int status = record_list_read(&base, &args.base, 1, err);
    if (!status)
        status = record_list_read(&now, &args.now, 1, err);
    if (!status)
        status = compare_build(&comparison, &base, &now, args.threshold_percent / 100.0, err);
    if (status)
        goto out;
    status = compare_print(&comparison, is_standard(args.junit) || is_standard(args.markdown) ? stderr : stdout, err);
    if (!status)
        status = write_files(&comparison, &args, err);
    if (!status)
        status = compare_status(&comparison, err);
out:
    compare_free(&comparison);
    record_list_free(&base);
    record_list_free(&now);
    return status;
}

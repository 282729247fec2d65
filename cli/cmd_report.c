/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"
#include "cli/inputs.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/record.h"
#include "reports/bound_chart.h"
#include "reports/model.h"
#include "reports/tables.h"

struct report_args {
    const char *out, *device;
    struct inputs inputs;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct report_args *args = state->input;
    switch (key) {
    case 'o':
        args->out = arg;
        return 0;
    case 'd':
        args->device = arg;
        return 0;
    default:
        return inputs_parse(key, state, &args->inputs);
    }
}

static void print_charts(const struct report *report, const char *dir)
{
    char name[128], path[4096];
    for (size_t d = 0; d < report->devices; d++)
        for (size_t f = 0; f < report->device[d].families; f++) {
            const struct report_family *family = &report->device[d].family[f];
            if (!bound_chart_wanted(family))
                continue;
            bound_chart_name(report, &report->device[d], family, name, sizeof name);
            snprintf(path, sizeof path, "%s/%s.png", dir, name);
            if (access(path, R_OK) == 0)
                printf("%s/%s.svg  .png\n", dir, name);
        }
}

static int write_report(const struct report *report, const char *dir, struct ridge_error *err)
{
    char note[9000];
    int status = inputs_make_folder(dir, err);
    if (!status)
        status = bound_chart_draw(report, dir, note, sizeof note, err);
    if (!status)
        status = report_markdown(report, dir, err);
    if (status)
        return status;
    if (note[0])
        printf("note: %s\n", note);
    print_charts(report, dir);
    printf("%s/report.md\n", dir);
    return RIDGE_OK;
}

int cmd_report(int argc, char **argv, struct ridge_error *err)
{
    static const struct argp_option options[] = {
        {"out", 'o', "DIR", 0, "also write DIR/report.md with bound charts; rooflines that lie in DIR are linked", 0},
        {"device", 'd', "ID", 0, "device file for ceilings that were not measured (default: that of the records)", 0},
        {0},
    };
    static const struct argp argp = {
        options,
        parse,
        "RECORDS...",
        "Prints a ladder table per family: time, rates, bound, share of the roof, speed-ups.\v"
        "RECORDS are files of JSON lines as `ridge bench --json` writes them; - is standard input.",
        NULL,
        NULL,
        NULL};
    struct report_args args = {0};
    struct record_list list = {0};
    struct report report = {0};
    if (argp_parse(&argp, argc, argv, 0, NULL, &args) != 0)
        return ridge_fail(err, RIDGE_INVALID, "report: invalid arguments");
    int status = inputs_read(&args.inputs, &list, err);
    if (!status)
        status = report_build(&report, &list, args.device, err);
    if (!status)
        status = report_print(&report, stdout, err);
    if (!status && args.out)
        status = write_report(&report, args.out, err);
    report_free(&report);
    record_list_free(&list);
    return status;
}

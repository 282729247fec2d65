/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/roofline_choices.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/record.h"
#include "reports/format.h"
#include "reports/grid.h"
#include "roofline/plot.h"

enum { MAX_TARGETS = 16 };

struct roofline_args {
    const char *out;
    char *device[MAX_TARGETS]; /* owned */
    int devices;
    bool quiet;
    struct inputs inputs;
};

/* One device of the records. */
struct machine {
    const char *name, *profile;
    bool host, has_spec;
    struct device_spec spec;
    struct ceilings measured;
    struct ceilings merged;    /* measured where known, else specified: what its own times are held against */
    struct ceilings projected; /* specified where known, else measured: what is scaled to another device's */
    int number;                /* among the machines of one profile, from 1 */
    struct point_list points;
};

static void add_devices(struct argp_state *state, struct roofline_args *args, const char *list)
{
    for (size_t length; *list; list += length + (list[length] == ',')) {
        length = strcspn(list, ",");
        if (length == 0)
            argp_error(state, "--device: an empty name in the list");
        if (args->devices == MAX_TARGETS)
            argp_error(state, "--device: more than %d devices", MAX_TARGETS);
        args->device[args->devices++] = strndup(list, length);
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct roofline_args *args = state->input;
    switch (key) {
    case 'o':
        args->out = arg;
        return 0;
    case 'q':
        args->quiet = true;
        return 0;
    case 'd':
        if (!*arg)
            argp_error(state, "--device: an empty name");
        add_devices(state, args, arg);
        return 0;
    default:
        return inputs_parse(key, state, &args->inputs);
    }
}

static void cell(struct grid *grid, struct text text)
{
    grid_cell(grid, text.s);
}

static void name_cells(struct grid *grid, const struct point_list *points, size_t i)
{
    const struct point *p = &points->point[i];
    bool first = i == 0 || p->family_index != p[-1].family_index;
    grid_cell(grid, first ? p->family : "");
    grid_cell(grid, p->name);
    cell(grid, format_time_ns(p->time_s * 1e9));
}

static struct text unknown_note(enum resource unknown, bool host)
{
    return unknown == RES_COUNT ? text_of("%s", "") : text_of("no ceiling for %s", bound_label(unknown, host));
}

static int print_measured(const struct machine *m, struct ridge_error *err)
{
    struct grid grid = {.columns = 0};
    static const char *const title[] = {"family", "variant", "time",     "useful FLOP/s", "B/s",
                                        "bound",  "floor",   "of bound", "next",          "note"};
    for (size_t i = 0; i < sizeof title / sizeof *title; i++)
        grid_column(&grid, title[i], (i >= 2 && i <= 4) || i == 6 || i == 7);
    for (size_t i = 0; i < m->points.count; i++) {
        const struct point *p = &m->points.point[i];
        if (p->emulated)
            continue;
        struct bound bound = record_bound(p->record, &m->merged);
        name_cells(&grid, &m->points, i);
        cell(&grid, p->useful_flop > 0 ? format_si(p->useful_flop / p->time_s, "FLOP/s") : text_of("-"));
        cell(&grid, format_si(p->level[LEVEL_HBM].useful_bytes / p->time_s, "B/s"));
        const char *name = bound_name(bound.first, m->host);
        cell(&grid, !(bound.floor_s > 0)                       ? text_of("-")
                    : bound_explains(bound.floor_s, p->time_s) ? text_of("%s", name)
                                                               : text_of("(%s)", name));
        cell(&grid, bound.floor_s > 0 ? format_time_ns(bound.floor_s * 1e9) : text_of("-"));
        cell(&grid, bound.floor_s > 0 ? format_percent(bound.floor_s / p->time_s) : text_of("-"));
        cell(&grid, bound.second == bound.first ? text_of("-")
                                                : text_of("%s %s", bound_name(bound.second, m->host),
                                                          format_percent(bound.seconds[bound.second] / p->time_s).s));
        if (record_exceeds(p->record, &m->merged))
            grid_cell(&grid, "above a roof: accounting error, or the ceiling was measured too low");
        else
            cell(&grid, unknown_note(bound.unknown, m->host));
    }
    if (grid.cells == 0) /* all of it is emulated */
        return RIDGE_OK;
    printf("%s: measured%s%s\n", m->name,
           m->has_spec ? "; ceilings that were not measured are those specified for " : "",
           m->has_spec ? m->spec.name : "");
    int status = grid_print(&grid, stdout, err);
    grid_free(&grid);
    printf("\n");
    return status;
}

static int print_elsewhere(const struct machine *m, const struct device_spec *target, struct ridge_error *err)
{
    struct grid grid = {.columns = 0};
    static const char *const title[] = {"family",    "variant", "measured", "placed",    "bound",
                                        "projected", "from",    "to",       "scaled by", "note"};
    for (size_t i = 0; i < sizeof title / sizeof *title; i++)
        grid_column(&grid, title[i], i == 2 || i == 3 || (i >= 5 && i <= 7));
    for (size_t i = 0; i < m->points.count; i++) {
        const struct point *p = &m->points.point[i];
        if (p->emulated && !record_is(p->record, "mode.emulate.requested", target->id))
            continue;
        struct placed placed = place(p->record, &target->specified);
        struct projected projected = project(p->record, &m->projected, &target->specified);
        name_cells(&grid, &m->points, i);
        cell(&grid, placed.floor_s > 0 ? format_time_ns(placed.floor_s * 1e9) : text_of("-"));
        grid_cell(&grid, placed.floor_s > 0 ? resource_name(placed.bound) : "-");
        if (p->emulated)
            projected = (struct projected){NAN, NAN, NAN, RES_COUNT};
        cell(&grid, format_time_ns(projected.seconds * 1e9));
        cell(&grid, format_time_ns(projected.low_s * 1e9));
        cell(&grid, format_time_ns(projected.high_s * 1e9));
        grid_cell(&grid, projected.seconds > 0 ? resource_name(projected.bound) : "-");
        cell(&grid, p->emulated ? text_of("emulated: the measured time is the throttled one")
                                : unknown_note(placed.unknown, false));
    }
    if (grid.cells == 0)
        return RIDGE_OK;
    printf("%s: not measured. placed = attainable on its specified roofs; projected = time on %s, scaled\n",
           target->name, m->name);
    int status = grid_print(&grid, stdout, err);
    grid_free(&grid);
    printf("\n");
    return status;
}

/* Draws one chart and frees it; `waiting` counts scripts that no gnuplot was there for. */
static int draw(struct chart *chart, const char *out, int *waiting, struct ridge_error *err)
{
    int status = RIDGE_OK;
    if (chart->entries > 0) {
        bool drawn;
        status = plot_draw(chart, out, &drawn, err);
        if (!status && drawn)
            printf("%s/%s.svg  .png\n", out, chart->stem);
        else if (!status)
            printf("%s/%s.gp\n", out, chart->stem);
        *waiting += !status && !drawn;
    }
    chart_free(chart);
    return status;
}

static int draw_levels(const struct machine *m, const struct device_spec *target, const char *out, int *waiting,
                       struct ridge_error *err)
{
    int status = RIDGE_OK;
    for (int level = 0; level < LEVEL_COUNT && !status; level++) {
        struct chart chart;
        status = target ? chart_elsewhere(&m->points, (enum level)level, &m->projected, target, &chart, err)
                        : chart_measured(&m->points, (enum level)level, &m->measured, m->has_spec ? &m->spec : NULL,
                                         &chart, err);
        size_t length = strlen(chart.stem);
        if (!status && m->number > 1)
            snprintf(chart.stem + length, sizeof chart.stem - length, "_%d", m->number);
        if (!status)
            status = draw(&chart, out, waiting, err);
    }
    return status;
}

static int open_machine(const struct record_list *list, const json_t *record, struct machine *m,
                        struct ridge_error *err)
{
    *m = (struct machine){
        .name = record_string(record, "device.name"), .profile = record_string(record, "device.profile"), .number = 1};
    m->host = record_is(record, "device.kind", "host");
    m->has_spec = m->profile && *m->profile && !m->host && device_spec_load(m->profile, &m->spec, NULL) == RIDGE_OK;
    int status = ceilings_from_records(list->record, list->count, m->name, &m->measured, err);
    if (status)
        return status;
    m->merged = m->has_spec ? ceilings_merge(&m->measured, &m->spec.specified) : m->measured;
    m->projected = m->has_spec ? ceilings_merge(&m->spec.specified, &m->measured) : m->measured;
    return points_of_device(list, m->name, &m->points, err);
}

static int run_machine(struct machine *m, const struct device_spec *target, int targets, bool quiet, const char *out,
                       int *waiting, struct ridge_error *err)
{
    if (m->points.left_out > 0)
        printf("note: %zu records of %s have no checked time and are left out\n", m->points.left_out, m->name);
    if (m->points.count == 0) {
        printf("note: no kernels of %s with a checked time, nothing to draw\n", m->name);
        return RIDGE_OK;
    }
    if (m->host && targets > 0)
        printf("note: %s is a host: only records of a GPU are placed on other devices and projected to them\n", m->name);
    int status = quiet ? RIDGE_OK : print_measured(m, err);
    if (!status)
        status = draw_levels(m, NULL, out, waiting, err);
    for (int i = 0; i < targets && !status && !m->host; i++) {
        if (m->profile && strcmp(m->profile, target[i].id) == 0)
            continue;
        if (!quiet) {
            printf("\n");
            status = roofline_choices(&m->points, &m->projected, &target[i], err);
            if (!status)
                status = print_elsewhere(m, &target[i], err);
        }
        if (!status)
            status = draw_levels(m, &target[i], out, waiting, err);
    }
    return status;
}

static bool first_of_device(const struct record_list *list, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (record_is(list->record[j], "device.name", record_string(list->record[i], "device.name")))
            return false;
    return true;
}

static bool same_profile(const json_t *a, const json_t *b)
{
    const char *profile = record_string(a, "device.profile");
    return profile && record_is(b, "device.profile", profile);
}

static int run_all(const struct record_list *list, const struct device_spec *target, int targets, bool quiet,
                   const char *out, struct ridge_error *err)
{
    int status = RIDGE_OK, waiting = 0;
    for (size_t i = 0; i < list->count && !status; i++) {
        if (!first_of_device(list, i))
            continue;
        struct machine machine;
        status = open_machine(list, list->record[i], &machine, err);
        for (size_t j = 0; j < i; j++)
            machine.number += first_of_device(list, j) && same_profile(list->record[j], list->record[i]);
        if (!status)
            status = run_machine(&machine, target, targets, quiet, out, &waiting, err);
        point_list_free(&machine.points);
    }
    if (!status && waiting > 0)
        printf("note: gnuplot is not on PATH. The scripts hold their data: run gnuplot on them here once it is "
               "installed,\n"
               "      or copy them to another machine and run it there\n");
    return status;
}

static int run(const struct roofline_args *args, struct ridge_error *err)
{
    struct device_spec target[MAX_TARGETS];
    struct record_list list = {0};
    const char *out = args->out ? args->out : ".";
    for (int i = 0; i < args->devices; i++) {
        int status = device_spec_load(args->device[i], &target[i], err);
        if (status)
            return status;
    }
    int status = inputs_read(&args->inputs, &list, err);
    if (!status)
        status = inputs_make_folder(out, err);
    if (!status && list.notes[0])
        printf("note: %s\n", list.notes);
    if (!status)
        status = run_all(&list, target, args->devices, args->quiet, out, err);
    record_list_free(&list);
    return status;
}

int cmd_roofline(int argc, char **argv, struct ridge_error *err)
{
    static const struct argp_option options[] = {
        {"device", 'd', "ID[,ID...]", 0,
         "place and project the records on these devices too (h20, h800-sxm, or a file)", 0},
        {"out", 'o', "DIR", 0, "folder for the plots (default: the current one)", 0},
        {"quiet", 'q', NULL, 0, "no tables, only the paths of the plots", 0},
        {0},
    };
    static const struct argp argp = {
        options,
        parse,
        "RECORDS...",
        "Draws rooflines of HBM, L2 and shared memory (SVG and PNG), and prints the bound of every variant.\v"
        "RECORDS are files of JSON lines as `ridge bench --json` writes them; - is standard input. Solid roofs were "
        "measured by the ceiling families in the same records, dashed ones come from device files. On another device "
        "than the records' the plot shows placed work (attainable on its specified roofs) and projected times "
        "(measured, "
        "scaled by the ratio of the binding ceilings); neither is a measurement.",
        NULL,
        NULL,
        NULL};
    struct roofline_args args = {.out = NULL};
    int status = RIDGE_INVALID;
    if (argp_parse(&argp, argc, argv, 0, NULL, &args) == 0)
        status = run(&args, err);
    else
        ridge_fail(err, RIDGE_INVALID, "invalid arguments");
    for (int i = 0; i < args.devices; i++)
        free(args.device[i]);
    return status;
}

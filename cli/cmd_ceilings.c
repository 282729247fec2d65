/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"
#include "cli/inputs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/record.h"
#include "reports/format.h"
#include "reports/grid.h"
#include "roofline/device_file.h"

struct ceilings_args {
    const char *device;
    struct inputs inputs;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct ceilings_args *args = state->input;
    switch (key) {
    case 'd':
        args->device = arg;
        return 0;
    default:
        return inputs_parse(key, state, &args->inputs);
    }
}

static void cell(struct grid *grid, struct text text)
{
    grid_cell(grid, text.s);
}

static struct text rate(int field, double value)
{
    if (strcmp(ceiling_info[field].unit, "s") == 0)
        return format_time_ns(value * 1e9);
    return format_si(value, ceiling_info[field].unit);
}

/* What one SM does in one clock, at the clock the record held. */
static struct text per_clock(int field, double value, const json_t *record)
{
    double sms = record_number(record, "device.sms"), mhz = record_number(record, "clock.sm_mhz.median");
    if (!ceiling_info[field].per_sm || !(sms * mhz > 0))
        return text_of("-");
    return format_digits(value / (sms * mhz * 1e6), 4);
}

static struct text held_clock(const json_t *record)
{
    double mhz = record_number(record, "clock.sm_mhz.median");
    return mhz > 0 ? text_of("%.0f MHz", mhz) : text_of("-");
}

/* Specified figures per clock: tensor rates hold at the clock they are rated for, the others at the largest. */
static struct text specified_per_clock(int field, double value, const struct device_spec *spec)
{
    bool tensor = strncmp(ceiling_info[field].key, "tensor_", 7) == 0;
    if (!ceiling_info[field].per_sm || !(spec->sms > 0))
        return text_of("-");
    return format_digits(value / (spec->sms * (tensor ? spec->tensor_hz : spec->max_sm_hz)), 4);
}

/* The host's own names of its memories. */
static const char *ceiling_label(int field, bool host)
{
    static const struct {
        const char *key, *label;
    } host_label[] = {{"hbm_read", "DRAM read"},
                      {"hbm_copy", "DRAM copy"},
                      {"hbm_write", "DRAM write"},
                      {"l2", "cache (L2 and up)"},
                      {"smem", "L1 cache"}};
    for (size_t i = 0; host && i < sizeof host_label / sizeof *host_label; i++)
        if (strcmp(ceiling_info[field].key, host_label[i].key) == 0)
            return host_label[i].label;
    return ceiling_info[field].label;
}

static int print_ceilings(struct ceilings *measured, const json_t *const from[CEILING_COUNT], const char *device,
                          bool host, const struct device_spec *spec, struct ridge_error *err)
{
    struct ceilings specified = spec ? spec->specified : ceilings_unknown();
    struct grid grid = {.columns = 0};
    static const char *const title[] = {
        "ceiling", "measured", "specified", "ratio", "per clock and SM", "specified per clock", "SM clock", "best of"};
    for (size_t i = 0; i < sizeof title / sizeof *title; i++)
        grid_column(&grid, title[i], i > 0 && i < 7);
    for (int i = 0; i < CEILING_COUNT; i++) {
        double is = *ceiling_at(measured, i), should = *ceiling_at(&specified, i);
        if (!from[i] && isnan(should))
            continue;
        const char *family = record_string(from[i], "variant.name"), *shape = record_string(from[i], "shape.name");
        grid_cell(&grid, ceiling_label(i, host));
        cell(&grid, rate(i, is));
        cell(&grid, rate(i, should));
        cell(&grid, format_digits(is / should, 3));
        cell(&grid, from[i] ? per_clock(i, is, from[i]) : text_of("-"));
        cell(&grid, spec ? specified_per_clock(i, should, spec) : text_of("-"));
        cell(&grid, from[i] ? held_clock(from[i]) : text_of("-"));
        cell(&grid, family ? text_of("%s %s", family, shape ? shape : "") : text_of("-"));
    }
    if (grid.cells == 0) {
        printf("%s: no ceilings in these records\n", device);
        return RIDGE_OK;
    }
    printf("%s: measured%s%s\n", device, spec ? " against the specification of " : "", spec ? spec->name : "");
    int status = grid_print(&grid, stdout, err);
    grid_free(&grid);
    return status;
}

static bool in_family(const json_t *record, const char *device, const char *family)
{
    return record_is(record, "device.name", device) && record_is(record, "variant.family", family);
}

/* Every record of one ceiling family, where there are several: the curve behind the best value. */
static int print_sweep(const struct record_list *list, const char *device, const char *family,
                       struct ceilings *measured, struct ridge_error *err)
{
    struct grid grid = {.columns = 0};
    static const char *const title[] = {"variant",          "shape",    "launch",        "rate",
                                        "per clock and SM", "SM clock", "of the ceiling"};
    for (size_t i = 0; i < sizeof title / sizeof *title; i++)
        grid_column(&grid, title[i], i >= 3);
    for (size_t i = 0; i < list->count; i++) {
        const json_t *record = list->record[i];
        double value;
        int field = in_family(record, device, family) ? ceiling_of_record(record, &value) : -1;
        if (field < 0)
            continue;
        bool is_time = strcmp(ceiling_info[field].unit, "s") == 0;
        double best = *ceiling_at(measured, field);
        grid_cell(&grid, record_string(record, "variant.label"));
        grid_cell(&grid, record_string(record, "shape.name"));
        grid_cell(&grid, record_string(record, "mode.launch.requested"));
        cell(&grid, rate(field, value));
        cell(&grid, per_clock(field, value, record));
        cell(&grid, held_clock(record));
        cell(&grid, format_digits(is_time ? best / value : value / best, 3));
    }
    printf("\n%s\n", family);
    int status = grid_print(&grid, stdout, err);
    grid_free(&grid);
    return status;
}

static int print_sweeps(const struct record_list *list, const char *device, struct ceilings *measured,
                        struct ridge_error *err)
{
    int status = RIDGE_OK;
    for (size_t i = 0; i < list->count && !status; i++) {
        double value;
        const char *family = record_string(list->record[i], "variant.family");
        if (!family || !in_family(list->record[i], device, family) || ceiling_of_record(list->record[i], &value) < 0)
            continue;
        int records = 0;
        bool seen = false;
        for (size_t j = 0; j < list->count; j++) {
            if (!in_family(list->record[j], device, family) || ceiling_of_record(list->record[j], &value) < 0)
                continue;
            seen = seen || j < i;
            records++;
        }
        if (!seen && records > 1)
            status = print_sweep(list, device, family, measured, err);
    }
    return status;
}

static int print_device(const struct record_list *list, const json_t *record, const struct device_spec *asked,
                        struct ridge_error *err)
{
    struct device_spec own;
    const char *device = record_string(record, "device.name"), *profile = record_string(record, "device.profile");
    const struct device_spec *spec = asked;
    bool cuda = record_is(record, "device.kind", "cuda");
    if (!cuda)
        spec = NULL;
    else if (!asked && profile && *profile && device_spec_load(profile, &own, NULL) == RIDGE_OK)
        spec = &own;
    struct ceilings measured;
    const json_t *from[CEILING_COUNT];
    int status = ceilings_with_evidence(list->record, list->count, device, &measured, from, err);
    if (!status)
        status = print_ceilings(&measured, from, device, !cuda, spec, err);
    return status ? status : print_sweeps(list, device, &measured, err);
}

static int run(const struct ceilings_args *args, struct ridge_error *err)
{
    struct device_spec asked;
    struct record_list list = {0};
    int status = args->device ? device_spec_load(args->device, &asked, err) : RIDGE_OK;
    if (!status)
        status = inputs_read(&args->inputs, &list, err);
    if (!status && list.notes[0])
        printf("note: %s\n", list.notes);
    for (size_t i = 0, printed = 0; i < list.count && !status; i++) {
        bool seen = false;
        for (size_t j = 0; j < i && !seen; j++)
            seen = record_is(list.record[j], "device.name", record_string(list.record[i], "device.name"));
        if (seen)
            continue;
        printf("%s", printed++ ? "\n" : "");
        status = print_device(&list, list.record[i], args->device ? &asked : NULL, err);
    }
    record_list_free(&list);
    return status;
}

int cmd_ceilings(int argc, char **argv, struct ridge_error *err)
{
    static const struct argp_option options[] = {
        {"device", 'd', "ID", 0, "compare with this device file (default: that of the records' device)", 0},
        {0},
    };
    static const struct argp argp = {
        options,
        parse,
        "RECORDS...",
        "Prints measured ceilings against specified ones, per clock and SM where the clock was recorded.\v"
        "RECORDS are files of JSON lines as `ridge bench --json` writes them; - is standard input. Only records of the "
        "ceiling_* families with a passed check and random data count. Families with several shapes or variants follow "
        "as tables of their own.",
        NULL,
        NULL,
        NULL};
    struct ceilings_args args = {.device = NULL};
    if (argp_parse(&argp, argc, argv, 0, NULL, &args) != 0)
        return ridge_fail(err, RIDGE_INVALID, "invalid arguments");
    return run(&args, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Calibration of --emulate, and what emulated times say of the device that was emulated. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/inputs.h"
#include "reports/format.h"
#include "reports/grid.h"
#include "roofline/emulation.h"

static error_t parse(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    return inputs_parse(key, state, state->input);
}

static void cell(struct grid *grid, struct text text)
{
    grid_cell(grid, text.s);
}

static int print_calibration(const struct record_list *list, const struct emulation *emulation, struct ridge_error *err)
{
    struct grid grid = {.columns = 0};
    static const char *const title[] = {"ceiling", "shape", "throttled", "specified", "ratio", "SM clock", "note"};
    for (size_t i = 0; i < sizeof title / sizeof *title; i++)
        grid_column(&grid, title[i], i >= 2 && i <= 5);
    for (size_t i = 0; i < list->count; i++) {
        const json_t *record = list->record[i];
        double rate, specified, mhz = record_number(record, "clock.sm_mhz.median");
        int field = emulation_ceiling(emulation, record, &rate, &specified);
        if (field < 0)
            continue;
        grid_cell(&grid, record_string(record, "variant.name"));
        grid_cell(&grid, record_string(record, "shape.name"));
        cell(&grid, format_si(rate, ceiling_info[field].unit));
        cell(&grid, format_si(specified, ceiling_info[field].unit));
        cell(&grid, format_digits(rate / specified, 3));
        cell(&grid, mhz > 0 ? text_of("%.0f MHz", mhz) : text_of("-"));
        grid_cell(&grid, emulation_counts(record) ? "" : "does not count: no emulated kernel uses it");
    }
    int status = RIDGE_OK;
    if (grid.cells == 0)
        status = ridge_fail(err, RIDGE_INVALID,
                            "no throttled ceiling to calibrate by: ridge bench --emulate %s --family 'ceiling_*' "
                            "--json FILE makes them; name FILE too",
                            emulation->spec.id);
    else
        printf("%s as emulated, against its specification\n", emulation->spec.name);
    if (!status)
        status = grid_print(&grid, stdout, err);
    grid_free(&grid);
    return status;
}

/* Median time of a record in seconds, by the kernel clock where it has one. */
static double time_of(const json_t *record)
{
    double kernel = record_number(record, "time.kernel_median_ns");
    return kernel > 0 ? kernel * 1e-9 : record_time_s(record);
}

static bool same(const json_t *a, const json_t *b, const char *path)
{
    const char *text = record_string(a, path);
    return text && record_is(b, path, text);
}

/* Both have the path with one value, or neither has it. */
static bool alike(const json_t *a, const json_t *b, const char *path)
{
    return record_string(a, path) ? same(a, b, path) : !record_string(b, path);
}

static bool same_modes(const json_t *a, const json_t *b)
{
    return alike(a, b, "mode.cache.requested") && alike(a, b, "mode.cache.method") &&
           alike(a, b, "mode.launch.requested") && alike(a, b, "mode.power.requested") &&
           alike(a, b, "mode.fill.requested");
}

/* The last record of the same variant, shape and mode that ran unthrottled. */
static const json_t *unthrottled(const struct record_list *list, const json_t *like)
{
    const json_t *found = NULL;
    for (size_t i = 0; i < list->count; i++) {
        const json_t *record = list->record[i];
        if (record_is(record, "mode.emulate.requested", "none") && same(like, record, "variant.name") &&
            same(like, record, "shape.name") && same_modes(like, record) &&
            alike(like, record, "mode.plan.requested") && time_of(record) > 0)
            found = record;
    }
    return found;
}

static bool is_kernel(const struct emulation *emulation, const json_t *record)
{
    const char *family = record_string(record, "variant.family");
    return record_is(record, "mode.emulate.requested", emulation->device) && record_is(record, "status", "ok") &&
           family && strncmp(family, "ceiling_", 8) != 0 && time_of(record) > 0;
}

/* The fastest emulated record of the family, shape and mode. */
static const json_t *fastest(const struct record_list *list, const struct emulation *emulation, const json_t *like)
{
    const json_t *found = like;
    for (size_t i = 0; i < list->count; i++) {
        const json_t *record = list->record[i];
        if (is_kernel(emulation, record) && same(like, record, "variant.family") && same(like, record, "shape.name") &&
            same_modes(like, record) && time_of(record) < time_of(found))
            found = record;
    }
    return found;
}

static void print_kernel(struct grid *grid, const struct record_list *list, const struct emulation *emulation,
                         const json_t *record)
{
    const json_t *best = fastest(list, emulation, record), *plain = unthrottled(list, record);
    const json_t *plain_best = unthrottled(list, best);
    const struct emulated_factor mine = emulation_interval(emulation, record);
    const struct emulated_factor other = emulation_interval(emulation, best);
    const double time = time_of(record), over = time / time_of(best), here = plain ? time_of(plain) : NAN;
    grid_cell(grid, record_string(record, "variant.name"));
    grid_cell(grid, record_string(record, "shape.name"));
    cell(grid, format_time_ns(here * 1e9));
    cell(grid, format_time_ns(time * 1e9));
    cell(grid, format_time_ns(time * mine.low * 1e9));
    cell(grid, format_time_ns(time * mine.high * 1e9));
    if (record == best) {
        for (int i = 0; i < 4; i++)
            grid_cell(grid, "");
        return;
    }
    cell(grid, format_digits(over, 3));
    cell(grid, format_digits(over * mine.low / other.high, 3));
    cell(grid, format_digits(over * mine.high / other.low, 3));
    cell(grid, format_digits(plain && plain_best ? here / time_of(plain_best) : NAN, 3));
}

static int print_kernels(const struct record_list *list, const struct emulation *emulation, struct ridge_error *err)
{
    struct grid grid = {.columns = 0};
    static const char *const title[] = {"variant",          "shape", "unthrottled", "throttled",  "there, from", "to",
                                        "over the fastest", "from",  "to",          "unthrottled"};
    for (size_t i = 0; i < sizeof title / sizeof *title; i++)
        grid_column(&grid, title[i], i >= 2);
    for (size_t i = 0; i < list->count; i++)
        if (is_kernel(emulation, list->record[i]))
            print_kernel(&grid, list, emulation, list->record[i]);
    if (grid.cells > 0)
        printf("\n");
    int status = grid.cells > 0 ? grid_print(&grid, stdout, err) : RIDGE_OK;
    grid_free(&grid);
    return status;
}

int cmd_emulation(int argc, char **argv, struct ridge_error *err)
{
    static const struct argp argp = {
        NULL,
        parse,
        "RECORDS...",
        "Prints how near --emulate comes to the device it stands for, and what emulated times say of it.\v"
        "RECORDS are files of JSON lines; ridge bench --emulate h20 --family 'ceiling_*' calibrates. A ratio above 1 "
        "is "
        "a throttle that is too weak: times that this resource paces would be longer there by so much. The interval "
        "spans 1 and the ratios of the resources that explain a third of the time or more.",
        NULL,
        NULL,
        NULL};
    struct inputs inputs = {NULL, 0};
    struct record_list list = {0};
    struct emulation emulation;
    if (argp_parse(&argp, argc, argv, 0, NULL, &inputs) != 0)
        return ridge_fail(err, RIDGE_INVALID, "invalid arguments");
    int status = inputs_read(&inputs, &list, err);
    if (!status)
        status = emulation_of(&list, &emulation, err);
    if (!status)
        status = print_calibration(&list, &emulation, err);
    if (!status)
        status = print_kernels(&list, &emulation, err);
    record_list_free(&list);
    return status;
}

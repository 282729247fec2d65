/* SPDX-License-Identifier: Apache-2.0 */
/* Steady (power-limited) measurements beside those of a rested chip. */
#include "reports/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/record.h"
#include "reports/format.h"

/* Whether two keys of records differ in nothing but the power mode: "...,power=burst,fill=...". */
static bool same_but_power(const char *a, const char *b)
{
    static const char axis[] = ",power=";
    const char *power_a = strstr(a, axis), *power_b = strstr(b, axis);
    if (!power_a || !power_b || power_a - a != power_b - b || strncmp(a, b, (size_t)(power_a - a)) != 0)
        return false;
    return strcmp(power_a + strcspn(power_a + 1, ",") + 1, power_b + strcspn(power_b + 1, ",") + 1) == 0;
}

static const struct report_row *burst_of(const struct report_device *device, const struct report_row *steady)
{
    const struct report_row *found = NULL;
    char *key = record_key(steady->record);
    for (size_t i = 0; i < device->rows && key && !found; i++) {
        const struct report_row *row = &device->row[i];
        char *other = record_is(row->record, "mode.power.requested", "burst") ? record_key(row->record) : NULL;
        if (row->state == ROW_OK && other && same_but_power(key, other))
            found = row;
        free(other);
    }
    free(key);
    return found;
}

static struct text clock_of(const struct report_row *row)
{
    return format_digits(record_number(row->record, "clock.sm_mhz.median"), 4);
}

static struct text power_of(const struct report_row *row)
{
    return format_digits(record_number(row->record, "clock.power_w"), 3);
}

static void cells(struct grid *grid, struct text burst, struct text steady)
{
    grid_cell(grid, burst.s);
    grid_cell(grid, steady.s);
}

static void pair_cells(struct grid *grid, const struct report_row *burst, const struct report_row *steady)
{
    const double clocks =
        record_number(burst->record, "clock.sm_mhz.median") / record_number(steady->record, "clock.sm_mhz.median");
    grid_cell(grid, record_string(steady->record, "variant.name"));
    grid_cell(grid, steady->shape);
    cells(grid, format_time_ns(burst->time_ns), format_time_ns(steady->time_ns));
    grid_cell(grid, format_factor(1 / report_ratio(burst, steady)).s);
    cells(grid, format_digits(burst->flop_s / 1e12, 3), format_digits(steady->flop_s / 1e12, 3));
    cells(grid, clock_of(burst), clock_of(steady));
    grid_cell(grid, format_factor(clocks).s);
    cells(grid, power_of(burst), power_of(steady));
    cells(grid, format_percent(burst->vendor_share), format_percent(steady->vendor_share));
}

struct grid table_power(const struct report_device *device)
{
    static const char *const numbers[] = {"time",   "steady",      "time ratio", "TFLOP/s", "steady",     "SM MHz",
                                          "steady", "clock ratio", "W",          "steady",  "of library", "steady"};
    struct grid grid = {0};
    grid_column(&grid, "variant", false);
    grid_column(&grid, "shape", false);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        grid_column(&grid, numbers[i], true);
    for (size_t i = 0; i < device->rows; i++) {
        const struct report_row *steady = &device->row[i];
        if (steady->state != ROW_OK || !record_is(steady->record, "mode.power.requested", "steady"))
            continue;
        const struct report_row *burst = burst_of(device, steady);
        if (burst)
            pair_cells(&grid, burst, steady);
    }
    return grid;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/tables.h"

#include <math.h>
#include <stdlib.h>

#include "reports/format.h"

static void fact(struct grid *grid, const char *name, const char *value)
{
    if (!value || !*value)
        return;
    grid_cell(grid, name);
    grid_cell(grid, value);
}

struct range {
    double low, high;
};

static struct range range_of(const struct report_device *device, const char *path)
{
    struct range range = {NAN, NAN};
    for (size_t i = 0; i < device->rows; i++) {
        double value = record_number(device->row[i].record, path);
        range.low = fmin(range.low, value);
        range.high = fmax(range.high, value);
    }
    return range;
}

static void fact_range(struct grid *grid, const char *name, const struct report_device *device, const char *path,
                       const char *unit)
{
    struct range range = range_of(device, path);
    if (range.low == range.high)
        fact(grid, name, text_of("%.5g %s", range.low, unit).s);
    else if (range.low < range.high)
        fact(grid, name, text_of("%.5g to %.5g %s", range.low, range.high, unit).s);
}

/* Distinct values of a path, or of the elements of the array there, joined with ", ". */
static char *distinct(const struct report_device *device, const char *path)
{
    json_t *seen = json_object();
    char *text = NULL;
    size_t bytes = 0;
    for (size_t i = 0; i < device->rows; i++) {
        const json_t *value = record_get(device->row[i].record, path);
        if (json_is_string(value) && *json_string_value(value))
            json_object_set_new(seen, json_string_value(value), json_true());
        for (size_t k = 0; k < json_array_size(value); k++)
            if (json_is_string(json_array_get(value, k)))
                json_object_set_new(seen, json_string_value(json_array_get(value, k)), json_true());
    }
    FILE *out = open_memstream(&text, &bytes);
    const char *name;
    json_t *ignored;
    json_object_foreach(seen, name, ignored) if (out) fprintf(out, "%s%s", ftell(out) ? ", " : "", name);
    if (out)
        fclose(out);
    json_decref(seen);
    return text;
}

static void fact_distinct(struct grid *grid, const char *name, const struct report_device *device, const char *path)
{
    char *text = distinct(device, path);
    fact(grid, name, text);
    free(text);
}

static void fact_counts(struct grid *grid, const struct report_device *device)
{
    size_t count[ROW_FAIL + 1] = {0};
    for (size_t i = 0; i < device->rows; i++)
        count[device->row[i].state]++;
    fact(grid, "measurements",
         text_of("%zu timed, %zu skipped, %zu failed, %zu without a usable time", count[ROW_OK], count[ROW_SKIP],
                 count[ROW_FAIL], count[ROW_BELOW_QUANTUM] + count[ROW_UNTIMED])
             .s);
}

static bool any_dirty(const struct report_device *device)
{
    for (size_t i = 0; i < device->rows; i++)
        if (json_is_true(record_get(device->row[i].record, "run.dirty")))
            return true;
    return false;
}

struct grid table_facts(const struct report_device *device)
{
    struct grid grid = {0};
    grid_column(&grid, "", false);
    grid_column(&grid, device->name, false);
    fact_counts(&grid, device);
    fact_distinct(&grid, "processor", device, "run.host");
    fact_range(&grid, device->host ? "usable cores" : "SMs", device, "device.sms", "");
    fact_distinct(&grid, "driver", device, "device.driver");
    fact_distinct(&grid, "CUDA", device, "device.cuda");
    fact_distinct(&grid, "units (UUID)", device, "device.uuid");
    fact_range(&grid, "power limit", device, "device.power_limit_w", "W");
    fact_range(&grid, "SM clock, medians of the variants", device, "clock.sm_mhz.median", "MHz");
    fact_range(&grid, "power while measuring", device, "clock.power_w", "W");
    fact_range(&grid, "temperature", device, "clock.temperature_c", "degrees C");
    fact_distinct(&grid, "throttle reasons seen", device, "clock.throttle");
    fact_range(&grid, "quantum of the event timer", device, "device.timer.event_quantum_ns", "ns");
    fact_distinct(&grid, "version", device, "run.version");
    fact_distinct(&grid, "git commit", device, "run.git");
    fact_distinct(&grid, "runs", device, "run.id");
    fact_distinct(&grid, "cache", device, "mode.cache.requested");
    fact_distinct(&grid, "made cold by", device, "mode.cache.method");
    fact_distinct(&grid, "launch", device, "mode.launch.requested");
    fact_distinct(&grid, "power", device, "mode.power.requested");
    fact_distinct(&grid, "inputs", device, "mode.fill.requested");
    fact(&grid, "uncommitted changes", any_dirty(device) ? "yes" : "");
    return grid;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/tables.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reports/bound_chart.h"
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
    for (size_t f = 0; f < device->families; f++)
        for (size_t i = 0; i < device->family[f].rows; i++) {
            double value = record_number(device->family[f].row[i].record, path);
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
        fact(grid, name, text_of("%s %s", format_digits(range.low, 4).s, unit).s);
    else if (range.low < range.high)
        fact(grid, name, text_of("%s to %s %s", format_digits(range.low, 4).s, format_digits(range.high, 4).s, unit).s);
}

/* Distinct values of a path, or of the elements of the array there, joined with ", ". */
static char *distinct(const struct report_device *device, const char *path)
{
    json_t *seen = json_object();
    char *text = NULL;
    size_t bytes = 0;
    for (size_t f = 0; f < device->families; f++)
        for (size_t i = 0; i < device->family[f].rows; i++) {
            const json_t *value = record_get(device->family[f].row[i].record, path);
            if (json_is_string(value) && *json_string_value(value))
                json_object_set_new(seen, json_string_value(value), json_true());
            for (size_t k = 0; k < json_array_size(value); k++)
                if (json_is_string(json_array_get(value, k)))
                    json_object_set_new(seen, json_string_value(json_array_get(value, k)), json_true());
        }
    FILE *out = open_memstream(&text, &bytes);
    const char *name;
    json_t *ignored;
    json_object_foreach(seen, name, ignored) if (out)
        fprintf(out, "%s%s", ftell(out) ? ", " : "", name);
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
    for (size_t f = 0; f < device->families; f++)
        for (size_t i = 0; i < device->family[f].rows; i++)
            count[device->family[f].row[i].state]++;
    fact(grid, "measurements",
         text_of("%zu timed, %zu skipped, %zu failed, %zu without a usable time", count[ROW_OK], count[ROW_SKIP],
                 count[ROW_FAIL], count[ROW_BELOW_QUANTUM] + count[ROW_UNTIMED])
             .s);
}

static int write_facts(const struct report_device *device, FILE *out, struct ridge_error *err)
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
    int status = grid_print_markdown(&grid, out, err);
    grid_free(&grid);
    for (size_t f = 0; f < device->families; f++)
        for (size_t i = 0; i < device->family[f].rows; i++)
            if (json_is_true(record_get(device->family[f].row[i].record, "run.dirty"))) {
                fputs("The tree had uncommitted changes when this was measured.\n\n", out);
                return status;
            }
    return status;
}

/* Takes the grid. */
static int write_grid(struct grid *grid, FILE *out, struct ridge_error *err)
{
    int status = grid->cells ? grid_print_markdown(grid, out, err) : RIDGE_OK;
    grid_free(grid);
    return status;
}

static bool exists(const char *dir, const char *name, const char *extension)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.%s", dir, name, extension);
    return access(path, R_OK) == 0;
}

static void write_image(FILE *out, const char *dir, const char *name, const char *alt)
{
    bool png = exists(dir, name, "png"), svg = exists(dir, name, "svg");
    if (!png && !svg)
        return;
    fprintf(out, "![%s](%s.%s)\n", alt, name, png ? "png" : "svg");
    if (png && svg)
        fprintf(out, "([SVG](%s.svg))\n", name);
    fputc('\n', out);
}

static int is_roofline(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return strncmp(entry->d_name, "roofline_", 9) == 0 && dot &&
           (strcmp(dot, ".png") == 0 || strcmp(dot, ".svg") == 0);
}

static void write_rooflines(FILE *out, const char *dir)
{
    struct dirent **entry = NULL;
    int count = scandir(dir, &entry, is_roofline, alphasort);
    char before[256] = "";
    if (count > 0)
        fputs("## Rooflines\n\nMeasured roofs are solid, specified ones dashed.\n\n", out);
    for (int i = 0; i < count; i++) {
        char name[256];
        snprintf(name, sizeof name, "%.*s", (int)(strrchr(entry[i]->d_name, '.') - entry[i]->d_name),
                 entry[i]->d_name);
        if (strcmp(name, before) != 0)
            write_image(out, dir, name, name);
        memcpy(before, name, sizeof before);
        free(entry[i]);
    }
    free(entry);
}

static int write_family(const struct report *report, const struct report_device *device,
                        const struct report_family *family, const char *dir, FILE *out, struct ridge_error *err)
{
    const char *mode = family_mode(family);
    fprintf(out, "### %s\n\n", family->name);
    if (mode)
        fprintf(out, "Mode: %s.\n\n", mode);
    struct grid grid = table_family(family, device);
    int status = write_grid(&grid, out, err);
    if (!family->ceiling) {
        char chart[128];
        fputs("What to read in it:\n\n", out);
        reading_write(out, family);
        fputc('\n', out);
        bound_chart_name(report, device, family, chart, sizeof chart);
        if (bound_chart_wanted(family))
            write_image(out, dir, chart, "demand on each resource as a share of the measured time");
    }
    long before = ftell(out);
    notes_write(out, "- ", family);
    if (ftell(out) != before)
        fputc('\n', out);
    return status;
}

static int write_device(const struct report *report, const struct report_device *device, const char *dir, FILE *out,
                        struct ridge_error *err)
{
    fprintf(out, "## %s\n\n", device->name);
    int status = write_facts(device, out, err);
    struct grid grid = table_summary(device);
    if (!status && grid.cells)
        fputs("### At a glance\n\n", out);
    if (!status)
        status = write_grid(&grid, out, err);
    grid = table_ceilings(device);
    if (!status && grid.cells)
        fputs("### Ceilings\n\n", out);
    if (device->spec_name[0])
        fprintf(out, "Specified figures: %s.\n\n", device->spec_name);
    if (device->spec_note[0])
        fprintf(out, "No specified figures: %s.\n\n", device->spec_note);
    if (!status)
        status = write_grid(&grid, out, err);
    for (size_t f = 0; f < device->families && !status; f++)
        status = write_family(report, device, &device->family[f], dir, out, err);
    grid = table_counted(device);
    if (!status && grid.cells)
        fputs("### Declared work against counters\n\n"
              "Declared is the issued work of the variant. More bytes counted than declared is traffic beyond the"
              " compulsory; fewer bytes written than declared stayed in the L2 cache.\n\n",
              out);
    if (!status)
        status = write_grid(&grid, out, err);
    return status;
}

static const char legend[] =
    "## How to read the tables\n\n"
    "- time: median; by the kernel clock (device activity records) where it was taken, else by the clock named. spread:"
    " half of the 95 % interval of the median.\n"
    "- TFLOP/s and GB/s (1e9 bytes): useful work and compulsory memory traffic over the time.\n"
    "- bound: the resource whose ceiling gives the longest least time for the issued work; of roof: that least time"
    " over the measured time. useful: the same for useful work. next, gap: the second resource, and how many times"
    " less time it needs.\n"
    "- over step before: speed-up over the step before in the ladder, same shape and mode. of library: time of the"
    " vendor library over the time.\n"
    "- Ceilings are those measured in these records; specified figures fill the gaps.\n";

int report_markdown(const struct report *report, const char *dir, struct ridge_error *err)
{
    char path[4096];
    int status = RIDGE_OK;
    snprintf(path, sizeof path, "%s/report.md", dir);
    FILE *out = fopen(path, "w");
    if (!out)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "%s: %s", path, strerror(errno));
    fputs("# Ridgeline report\n\n", out);
    if (report->list->notes[0])
        fprintf(out, "Note: %s\n\n", report->list->notes);
    if (report->superseded)
        fprintf(out, "Note: %zu records were measured again later; the later ones are shown.\n\n", report->superseded);
    write_rooflines(out, dir);
    for (size_t d = 0; d < report->devices && !status; d++)
        status = write_device(report, &report->device[d], dir, out, err);
    fputs(legend, out);
    bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed)
        status = ridge_fail(err, RIDGE_ENVIRONMENT, "%s: %s", path, strerror(errno));
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/tables.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/whole_file.h"
#include "reports/bound_chart.h"
#include "reports/format.h"

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
    return strncmp(entry->d_name, "roofline_", 9) == 0 && dot && (strcmp(dot, ".png") == 0 || strcmp(dot, ".svg") == 0);
}

/* "roofline_<profile>_<level>", where the profile is that of the device. */
static bool of_device(const char *name, const struct report_device *device)
{
    const char *profile = device->profile && *device->profile ? device->profile : device->name;
    name += strlen("roofline_");
    for (; *profile; profile++, name++) {
        bool kept = isalnum((unsigned char)*profile) || *profile == '-' || *profile == '_';
        if (*name != (kept ? tolower((unsigned char)*profile) : '-'))
            return false;
    }
    return *name == '_' && !strstr(name, "_placed_");
}

static bool of_any_device(const char *name, const struct report *report)
{
    for (size_t i = 0; i < report->devices; i++)
        if (of_device(name, &report->device[i]))
            return true;
    return false;
}

/* The plots of `device`, or with NULL those of devices that were not measured. */
static void write_rooflines(FILE *out, const char *dir, const struct report *report, const struct report_device *device)
{
    struct dirent **entry = NULL;
    int count = scandir(dir, &entry, is_roofline, alphasort);
    char before[256] = "";
    bool any = false;
    for (int i = 0; i < count; i++) {
        char name[256];
        snprintf(name, sizeof name, "%.*s", (int)(strrchr(entry[i]->d_name, '.') - entry[i]->d_name), entry[i]->d_name);
        free(entry[i]);
        if (strcmp(name, before) == 0 || (device ? !of_device(name, device) : of_any_device(name, report)))
            continue;
        if (!any)
            fputs(device ? "### Rooflines\n\nMeasured roofs are solid, specified ones dashed.\n\n"
                         : "## Other devices\n\nNothing here was measured on the device that the plot names: work is"
                           " placed on its specified roofs, times are projected.\n\n",
                  out);
        any = true;
        write_image(out, dir, name, name);
        memcpy(before, name, sizeof before);
    }
    free(entry);
}

static void write_notes(FILE *out, const struct report_family *family)
{
    long before = ftell(out);
    notes_write(out, "- ", family);
    if (ftell(out) != before)
        fputc('\n', out);
}

static void write_mode(FILE *out, const struct report_family *family)
{
    if (family_mode(family))
        fprintf(out, "Mode: %s.\n\n", family_mode(family));
}

/* The fastest few plans a variant, shape and mode: the others are in the records. */
static int write_plans(const struct report_device *device, const struct report_family *family, FILE *out,
                       struct ridge_error *err)
{
    fprintf(out,
            "### %s\n\nThe fastest plans of %zu that were asked for. over own choice: speed-up over what the variant"
            " takes by itself.\n\nShape: %s. ",
            family_title(family).s, family->rows, family_axes(family).s);
    write_mode(out, family);
    struct grid grid = table_plans(device, family);
    int status = write_grid(&grid, out, err);
    write_notes(out, family);
    return status;
}

static int write_family(const struct report *report, const struct report_device *device,
                        const struct report_family *family, const char *dir, FILE *out, struct ridge_error *err)
{
    char chart[128];
    fprintf(out, "### %s\n\nShape: %s. ", family_title(family).s, family_axes(family).s);
    write_mode(out, family);
    struct grid grid = table_family(family, device->host);
    int status = write_grid(&grid, out, err);
    fputs("What to read in it:\n\n", out);
    reading_write(out, family);
    fputc('\n', out);
    write_notes(out, family);
    bound_chart_name(report, device, family, chart, sizeof chart);
    if (bound_chart_wanted(family))
        write_image(out, dir, chart, "demand on each resource as a share of the measured time");
    return status;
}

static int write_ceilings(const struct report_device *device, FILE *out, struct ridge_error *err)
{
    struct grid grid = table_ceilings(device);
    fputs("### Ceilings\n\n", out);
    if (device->spec_name[0])
        fprintf(out, "Specified figures: %s.\n\n", device->spec_name);
    if (device->spec_note[0])
        fprintf(out, "No specified figures: %s.\n\n", device->spec_note);
    if (!grid.cells)
        fputs("None is known: no `ceiling_*` record is among these.\n\n", out);
    return write_grid(&grid, out, err);
}

static int write_evidence(const struct report_device *device, FILE *out, struct ridge_error *err)
{
    int status = RIDGE_OK;
    if (device->ceilings.rows) {
        fputs("### Measurements behind the ceilings\n\n", out);
        write_mode(out, &device->ceilings);
        struct grid grid = table_ceiling_rows(device);
        status = write_grid(&grid, out, err);
        write_notes(out, &device->ceilings);
    }
    struct grid grid = table_power(device);
    if (grid.cells)
        fputs("### Steady beside burst\n\n"
              "Burst: the chip rests between samples. Steady: it works all the time, and the power limit sets the clock."
              " Each pair of columns is burst, then steady; time ratio: steady over burst, clock ratio: burst over"
              " steady.\n\n",
              out);
    if (!status)
        status = write_grid(&grid, out, err);
    else
        grid_free(&grid);
    grid = table_counted(device);
    if (grid.cells)
        fputs("### Declared work against counters\n\n"
              "Counted over declared, the issued work of the variant. More bytes than declared is traffic beyond the"
              " compulsory; fewer bytes written stayed in the L2 cache; L2 answers SMs that ask for the same at the same"
              " time together; no tensor work where CUDA cores or mma.sync did it.\n\n",
              out);
    if (!status)
        status = write_grid(&grid, out, err);
    else
        grid_free(&grid);
    notes_write_evidence(out, "- ", device);
    fputc('\n', out);
    return status;
}

static int write_device(const struct report *report, const struct report_device *device, const char *dir, FILE *out,
                        struct ridge_error *err)
{
    fprintf(out, "## %s\n\n### What was run\n\n", device->name);
    struct grid grid = table_facts(device);
    int status = write_grid(&grid, out, err);
    grid = table_summary(device);
    if (grid.cells)
        fputs("### At a glance\n\n", out);
    if (!status)
        status = write_grid(&grid, out, err);
    if (!status)
        status = write_ceilings(device, out, err);
    write_rooflines(out, dir, report, device);
    for (size_t f = 0; f < device->families && !status; f++)
        status = device->family[f].kind == KIND_PLANS ? write_plans(device, &device->family[f], out, err)
                                                      : write_family(report, device, &device->family[f], dir, out, err);
    if (!status)
        status = write_evidence(device, out, err);
    return status;
}

static const char legend[] =
    "## How to read the tables\n\n"
    "- time: median by the clock named; by kernel clock: the same from device activity records, without what events "
    "add."
    " spread: half of the 95 % interval of the median.\n"
    "- FLOP/s and GB/s (1e9 bytes): useful work and compulsory memory traffic over the time.\n"
    "- bound: the resource whose ceiling gives the longest least time for the issued work; of roof: that least time"
    " over the measured time. Below a third of it the bound is in parentheses: something that the model does not count"
    " (latency, instruction issue) takes most of the time. useful: the same for useful work. next, gap: the second resource, and how many times"
    " less time it needs.\n"
    "- !: above the roof by more than the noise of the ceilings, so work or ceiling is wrong; never the fastest step.\n"
    "- mode: cache/launch/power/inputs.\n"
    "- over step before: speed-up over the step before in the ladder, same shape and mode. of library: time of the "
    "fastest"
    " vendor-library variant over the time. Both by kernel clock where both have it.\n"
    "- Ceilings are those measured in these records; specified figures fill the gaps.\n";

int report_markdown(const struct report *report, const char *dir, struct ridge_error *err)
{
    char path[4096];
    int status;
    snprintf(path, sizeof path, "%s/report.md", dir);
    struct whole_file file;
    status = whole_file_open(&file, path, err);
    if (status)
        return status;
    FILE *out = file.stream;
    fputs("# Ridgeline report\n\n", out);
    if (report->list->notes[0])
        fprintf(out, "Note: %s\n\n", report->list->notes);
    if (report->superseded)
        fprintf(out, "Note: %zu records were measured again later; the later ones are shown.\n\n", report->superseded);
    for (size_t d = 0; d < report->devices && !status; d++)
        status = write_device(report, &report->device[d], dir, out, err);
    if (!status)
        write_rooflines(out, dir, report, NULL);
    fputs(legend, out);
    return whole_file_close(&file, status, err);
}

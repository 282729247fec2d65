/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/tables.h"

#include "reports/format.h"

static int print_family(const struct report_family *family, const struct report_device *device, FILE *out,
                        struct ridge_error *err)
{
    const char *mode = family_mode(family);
    fprintf(out, "%s on %s%s%s\n", family->name, device->name, mode ? ", " : "", mode ? mode : "");
    struct grid grid = table_family(family, device);
    int status = grid_print(&grid, out, err);
    grid_free(&grid);
    notes_write(out, "  ", family);
    fputc('\n', out);
    return status;
}

static int print_device(const struct report_device *device, FILE *out, struct ridge_error *err)
{
    int status = RIDGE_OK;
    for (size_t i = 0; i < device->families && !status; i++)
        status = print_family(&device->family[i], device, out, err);
    struct grid ceilings = table_ceilings(device);
    if (!status && ceilings.cells) {
        fprintf(out, "ceilings of %s", device->name);
        if (device->spec_name[0])
            fprintf(out, ", specified: %s", device->spec_name);
        fputc('\n', out);
        status = grid_print(&ceilings, out, err);
    }
    grid_free(&ceilings);
    if (device->spec_note[0])
        fprintf(out, "  no specified ceilings: %s\n", device->spec_note);
    struct grid seen = table_counted(device);
    if (!status && seen.cells) {
        fprintf(out, "\ndeclared work against counters on %s\n", device->name);
        status = grid_print(&seen, out, err);
    }
    grid_free(&seen);
    fputc('\n', out);
    return status;
}

int report_print(const struct report *report, FILE *out, struct ridge_error *err)
{
    int status = RIDGE_OK;
    for (size_t i = 0; i < report->devices && !status; i++)
        status = print_device(&report->device[i], out, err);
    if (!report->devices)
        fputs("no records\n", out);
    if (report->list->notes[0])
        fprintf(out, "note: %s\n", report->list->notes);
    if (report->superseded)
        fprintf(out, "note: %zu records were measured again later; the later ones are shown\n", report->superseded);
    return status;
}

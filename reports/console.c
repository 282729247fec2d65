/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/tables.h"

#include "reports/format.h"

/* Takes the grid; prints nothing when it is empty. */
static int print_grid(struct grid *grid, FILE *out, struct ridge_error *err)
{
    int status = grid->cells ? grid_print(grid, out, err) : RIDGE_OK;
    grid_free(grid);
    return status;
}

static int print_family(const struct report_family *family, struct grid grid, const char *axes,
                        const struct report_device *device, FILE *out, struct ridge_error *err)
{
    const char *mode = family_mode(family);
    fprintf(out, "%s%s on %s%s%s\n", family_title(family).s, axes, device->name, mode ? ", " : "", mode ? mode : "");
    int status = print_grid(&grid, out, err);
    notes_write(out, "  ", family);
    fputc('\n', out);
    return status;
}

static int print_device(const struct report_device *device, FILE *out, struct ridge_error *err)
{
    int status = RIDGE_OK;
    for (size_t i = 0; i < device->families && !status; i++) {
        const struct report_family *family = &device->family[i];
        struct grid grid =
            family->kind == KIND_PLANS ? table_plans(device, family) : table_family(family, device->host);
        status = print_family(family, grid, text_of(" (%s)", family_axes(family).s).s, device, out, err);
    }
    if (!status && device->ceilings.rows)
        status = print_family(&device->ceilings, table_ceiling_rows(device), "", device, out, err);
    if (status)
        return status;
    struct grid grid = table_ceilings(device);
    if (grid.cells)
        fprintf(out, "roofs of %s%s%s\n", device->name, device->spec_name[0] ? ", specified: " : "", device->spec_name);
    status = print_grid(&grid, out, err);
    if (device->spec_note[0])
        fprintf(out, "  no specified roofs: %s\n", device->spec_note);
    grid = table_power(device);
    if (grid.cells)
        fprintf(out, "\nsteady (power-limited) beside burst on %s\n", device->name);
    if (!status)
        status = print_grid(&grid, out, err);
    else
        grid_free(&grid);
    grid = table_counted(device);
    if (grid.cells)
        fprintf(out, "\ndeclared work against counters on %s\n", device->name);
    if (!status)
        status = print_grid(&grid, out, err);
    notes_write_evidence(out, "  ", device);
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

/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/roofline_choices.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/record.h"
#include "reports/format.h"
#include "reports/grid.h"

/* The same family, shape and modes: steps that a user of the other device chooses from. */
static bool same_choice(const struct point *a, const struct point *b)
{
    static const char *const paths[] = {"shape.name", "mode.cache.requested", "mode.launch.requested",
                                        "mode.power.requested", "mode.fill.requested"};
    bool same = a->family_index == b->family_index && !a->emulated && !b->emulated;
    for (size_t i = 0; same && i < sizeof paths / sizeof *paths; i++) {
        const char *value = record_string(a->record, paths[i]);
        same = value && record_is(b->record, paths[i], value);
    }
    return same;
}

/* By the end of the interval: a step that another unit binds here may hide how slowly it would feed the one that binds
 * there, and its projected time is then the floor. */
static bool is_faster(const struct projected *a, const struct projected *b)
{
    if (!(b->high_s > 0) || !(a->high_s > 0))
        return a->high_s > 0;
    return a->high_s < b->high_s || (a->high_s == b->high_s && a->seconds < b->seconds);
}

static void choice_cells(struct grid *grid, const struct point *p, const struct projected *projected, int steps)
{
    const char *plan = record_string(p->record, "mode.plan.requested");
    grid_cell(grid, record_string(p->record, "shape.name"));
    grid_cell(grid, text_of("%.60s%s%.30s", p->label, plan ? " " : "", plan ? plan : "").s);
    grid_cell(grid, text_of("%d", steps).s);
    grid_cell(grid, format_time_ns(projected->seconds * 1e9).s);
    grid_cell(grid, format_time_ns(projected->low_s * 1e9).s);
    grid_cell(grid, format_time_ns(projected->high_s * 1e9).s);
    grid_cell(grid, resource_name(projected->bound));
    grid_cell(grid, format_time_ns(p->time_s * 1e9).s);
}

int roofline_choices(const struct point_list *points, const struct ceilings *ceilings, const struct device_spec *target,
                     struct ridge_error *err)
{
    static const char *const title[] = {"family", "shape", "step",      "of",      "projected",
                                        "from",   "to",    "scaled by", "measured"};
    struct grid grid = {.columns = 0};
    const struct point *point = points->point;
    bool *seen = calloc(points->count + 1, sizeof *seen);
    int last = -1;
    if (!seen)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "out of memory for %zu points", points->count);
    for (size_t i = 0; i < sizeof title / sizeof *title; i++)
        grid_column(&grid, title[i], i >= 3 && i != 7);
    for (size_t i = 0; i < points->count; i++) {
        struct projected least = {.high_s = NAN};
        size_t best = i;
        int steps = 0;
        for (size_t j = i; j < points->count && !seen[i]; j++) {
            if (seen[j] || !same_choice(&point[i], &point[j]))
                continue;
            const struct projected projected = project(point[j].record, ceilings, &target->specified);
            seen[j] = j > i;
            steps++;
            if (is_faster(&projected, &least)) {
                least = projected;
                best = j;
            }
        }
        if (!(least.high_s > 0))
            continue;
        grid_cell(&grid, point[i].family_index != last ? point[i].family : "");
        last = point[i].family_index;
        choice_cells(&grid, &point[best], &least, steps);
    }
    free(seen);
    if (grid.cells == 0)
        return RIDGE_OK;
    printf("%s: at each shape the step whose projected time has the least upper end\n", target->name);
    int status = grid_print(&grid, stdout, err);
    grid_free(&grid);
    printf("\n");
    return status;
}

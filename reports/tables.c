/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/tables.h"

#include <math.h>
#include <string.h>

#include "reports/format.h"

const char *family_mode(const struct report_family *family)
{
    for (size_t i = 1; i < family->rows; i++)
        if (strcmp(family->row[i].mode, family->row[0].mode) != 0)
            return NULL;
    return family->rows ? family->row[0].mode : NULL;
}

struct text family_title(const struct report_family *family)
{
    static const char *const behind[] = {[KIND_LADDER] = "", [KIND_EMULATED] = ", emulated", [KIND_PLANS] = ", plans"};
    return text_of("%.64s%s", family->name, behind[family->kind]);
}

struct text family_axes(const struct report_family *family)
{
    struct text text = {""};
    const char *name;
    json_t *value, *params = (json_t *)record_get(family->row[0].record, "shape.params");
    json_object_foreach(params, name, value)
    {
        size_t used = strlen(text.s);
        snprintf(text.s + used, sizeof text.s - used, "%s%s", used ? " x " : "", name);
    }
    return text;
}

static void cell(struct grid *grid, struct text text)
{
    grid_cell(grid, text.s);
}

static void blank_cells(struct grid *grid, size_t count)
{
    while (count--)
        grid_cell(grid, "-");
}

static void time_cells(struct grid *grid, const struct report_row *row)
{
    static const char *const instead[] = {
        [ROW_BELOW_QUANTUM] = "< quantum", [ROW_UNTIMED] = "no time", [ROW_SKIP] = "skip", [ROW_FAIL] = "fail"};
    if (row->state != ROW_OK) {
        grid_cell(grid, instead[row->state]);
        blank_cells(grid, 3);
        return;
    }
    bool kernel = strcmp(row->clock, "kernel") == 0;
    cell(grid, format_time_ns(row->time_ns));
    cell(grid, format_percent(row->spread));
    grid_cell(grid, row->clock);
    cell(grid, format_time_ns(kernel ? NAN : record_number(row->record, "time.kernel_median_ns")));
}

/* Rate per clock and SM, the figure that survives another clock. */
static struct text per_clock(const struct report_row *row, double rate)
{
    double mhz = record_number(row->record, "clock.sm_mhz.median"), sms = record_number(row->record, "mode.emulate.sms");
    if (!(sms > 0.0))
        sms = record_number(row->record, "device.sms");
    if (row->host_ladder || !(mhz > 0.0 && sms > 0.0))
        return text_of("-");
    return format_digits(rate / (mhz * 1e6 * sms), 4);
}

static void ceiling_cells(struct grid *grid, const struct report_row *row)
{
    if (row->state != ROW_OK) {
        blank_cells(grid, 2);
        return;
    }
    double rate;
    int field = ceiling_of_record(row->record, &rate);
    bool known = field >= 0;
    if (known && strcmp(ceiling_info[field].unit, "s") == 0) {
        cell(grid, text_of("%s each", format_time_ns(rate * 1e9).s));
        grid_cell(grid, "-");
        return;
    }
    const double tokens = record_number(row->record, "shape.params.tokens");
    if (!known && tokens > 0.0) {
        rate = tokens / record_time_s(row->record);
        cell(grid, format_si(rate, "token/s"));
        cell(grid, per_clock(row, rate));
        return;
    }
    if (!known)
        rate = row->flop_s > 0.0 ? row->flop_s : row->byte_s;
    cell(grid, format_si(rate, known ? ceiling_info[field].unit : row->flop_s > 0.0 ? "FLOP/s" : "B/s"));
    cell(grid, per_clock(row, rate));
}

static bool has_demand(const struct bound *bound, enum resource resource)
{
    return bound->seconds[resource] > 0.0;
}

/* In parentheses where it explains too little of the time to be called the bound. */
static struct text bound_text(const struct report_row *row)
{
    const char *name = row_resource(row, row->bound.first);
    if (!has_demand(&row->bound, row->bound.first))
        return text_of("-");
    return bound_explains(row->roof_share, 1.0) ? text_of("%s", name) : text_of("(%s)", name);
}

static void roof_cells(struct grid *grid, const struct report_row *row, double flop_unit)
{
    if (row->state != ROW_OK) {
        blank_cells(grid, 6);
        return;
    }
    cell(grid, format_digits(row->flop_s / flop_unit, 3));
    cell(grid, format_digits(row->byte_s / 1e9, 3));
    cell(grid, text_of("%s%s", format_percent(row->roof_share).s, row->above_roof ? " !" : ""));
    cell(grid, format_percent(row->useful_share));
    bool bound = has_demand(&row->bound, row->bound.first);
    cell(grid, bound_text(row));
    if (bound && row->bound.second != row->bound.first) /* the same: there is one alone */
        cell(grid, text_of("%s %s", row_resource(row, row->bound.second),
                           format_factor(row->bound.floor_s / row->bound.seconds[row->bound.second]).s));
    else
        grid_cell(grid, "-");
}

static void ladder_cells(struct grid *grid, const struct report_row *row)
{
    if (row->state != ROW_OK) {
        blank_cells(grid, 2);
        return;
    }
    if (row->over && row->over->step != row->step - 1)
        cell(grid,
             text_of("%s over %s%02d", format_factor(row->speedup).s, row->host_ladder ? "h" : "", row->over->step));
    else
        cell(grid, format_factor(row->speedup));
    cell(grid, row->library == row ? text_of("library") : format_percent(row->vendor_share));
}

static void time_columns(struct grid *grid)
{
    grid_column(grid, "time", true);
    grid_column(grid, "spread", true);
    grid_column(grid, "clock", false);
    grid_column(grid, "by kernel clock", true);
}

static void roof_columns(struct grid *grid, bool host)
{
    grid_column(grid, host ? "GFLOP/s" : "TFLOP/s", true);
    grid_column(grid, "GB/s", true);
    grid_column(grid, "of roof", true);
    grid_column(grid, "useful", true);
    grid_column(grid, "bound", false);
    grid_column(grid, "next, gap", false);
}

struct grid table_family(const struct report_family *family, bool host)
{
    struct grid grid = {0};
    bool modes = family_mode(family) == NULL;
    grid_column(&grid, "variant", false);
    grid_column(&grid, "shape", false);
    if (modes)
        grid_column(&grid, "mode", false);
    time_columns(&grid);
    roof_columns(&grid, host);
    grid_column(&grid, "over step before", true);
    grid_column(&grid, "of library", true);
    for (size_t i = 0; i < family->rows; i++) {
        grid_cell(&grid, family->row[i].label);
        grid_cell(&grid, family->row[i].shape);
        if (modes)
            grid_cell(&grid, family->row[i].mode);
        time_cells(&grid, &family->row[i]);
        roof_cells(&grid, &family->row[i], host ? 1e9 : 1e12);
        ladder_cells(&grid, &family->row[i]);
    }
    return grid;
}

enum { PLANS_SHOWN = 3 };

/* The fastest of `rows` plans of one variant, fastest first; returns how many were timed. */
static size_t fastest_plans(const struct report_row *row, size_t rows, const struct report_row *best[PLANS_SHOWN])
{
    size_t timed = 0;
    for (size_t i = 0; i < rows; i++) {
        if (row[i].state != ROW_OK)
            continue;
        size_t at = timed < PLANS_SHOWN ? timed : PLANS_SHOWN;
        timed++;
        for (; at > 0 && report_ratio(best[at - 1], &row[i]) > 1.0; at--)
            if (at < PLANS_SHOWN)
                best[at] = best[at - 1];
        if (at < PLANS_SHOWN)
            best[at] = &row[i];
    }
    return timed;
}

static void plan_rows(struct grid *grid, const struct report_device *device, const struct report_row *row, size_t rows,
                      bool modes)
{
    const struct report_row *best[PLANS_SHOWN];
    const size_t timed = fastest_plans(row, rows, best);
    for (size_t i = 0; i < timed && i < PLANS_SHOWN; i++) {
        const struct report_row *own = report_own_choice(device, best[i]);
        grid_cell(grid, best[i]->label);
        grid_cell(grid, best[i]->shape);
        if (modes)
            grid_cell(grid, best[i]->mode);
        grid_cell(grid, best[i]->plan);
        cell(grid, text_of("%zu of %zu", i + 1, timed));
        time_cells(grid, best[i]);
        roof_cells(grid, best[i], device->host ? 1e9 : 1e12);
        cell(grid, format_factor(own ? report_ratio(own, best[i]) : NAN));
    }
}

struct grid table_plans(const struct report_device *device, const struct report_family *family)
{
    struct grid grid = {0};
    const bool modes = family_mode(family) == NULL;
    grid_column(&grid, "variant", false);
    grid_column(&grid, "shape", false);
    if (modes)
        grid_column(&grid, "mode", false);
    grid_column(&grid, "plan", false);
    grid_column(&grid, "rank", false);
    time_columns(&grid);
    roof_columns(&grid, device->host);
    grid_column(&grid, "over own choice", true);
    for (size_t begin = 0, end; begin < family->rows; begin = end) {
        const size_t group = report_group_end(family, begin);
        for (end = begin + 1; end < group && strcmp(family->row[end].label, family->row[begin].label) == 0;)
            end++;
        plan_rows(&grid, device, &family->row[begin], end - begin, modes);
    }
    return grid;
}

/* "n=256 iters=4096" */
static struct text named_shape(const json_t *record)
{
    struct text text = {""};
    const char *name;
    json_t *value, *params = (json_t *)record_get(record, "shape.params");
    json_object_foreach(params, name, value)
    {
        size_t used = strlen(text.s);
        snprintf(text.s + used, sizeof text.s - used, "%s%s=%.15g", used ? " " : "", name, json_number_value(value));
    }
    return text;
}

struct grid table_ceiling_rows(const struct report_device *device)
{
    const struct report_family *family = &device->ceilings;
    struct grid grid = {0};
    bool modes = family_mode(family) == NULL;
    grid_column(&grid, "variant", false);
    grid_column(&grid, "shape", false);
    if (modes)
        grid_column(&grid, "mode", false);
    time_columns(&grid);
    grid_column(&grid, "rate", true);
    grid_column(&grid, "per clock and SM", true);
    for (size_t i = 0; i < family->rows; i++) {
        grid_cell(&grid, record_string(family->row[i].record, "variant.name"));
        cell(&grid, named_shape(family->row[i].record));
        if (modes)
            grid_cell(&grid, family->row[i].mode);
        time_cells(&grid, &family->row[i]);
        ceiling_cells(&grid, &family->row[i]);
    }
    return grid;
}

static const char *ceiling_label(const struct report_device *device, int field)
{
    static const struct {
        const char *key, *label;
    } host[] = {{"hbm_read", "DRAM read"},  {"hbm_copy", "DRAM copy"}, {"hbm_write", "DRAM write"},
                {"l2", "cache (L2 and up)"}, {"smem", "L1 cache"},      {"tensor_bf16", "BF16 arithmetic"}};
    for (size_t i = 0; i < sizeof host / sizeof *host && device->host; i++)
        if (strcmp(ceiling_info[field].key, host[i].key) == 0)
            return host[i].label;
    return ceiling_info[field].label;
}

struct grid table_ceilings(const struct report_device *device)
{
    struct grid grid = {0};
    grid_column(&grid, "ceiling", false);
    grid_column(&grid, "measured", true);
    grid_column(&grid, "specified", true);
    grid_column(&grid, "measured / specified", true);
    for (int i = 0; i < CEILING_COUNT; i++) {
        struct ceilings m = device->measured, s = device->specified;
        double measured = *ceiling_at(&m, i), specified = *ceiling_at(&s, i);
        bool is_time = strcmp(ceiling_info[i].unit, "s") == 0;
        if (!(measured > 0.0) && !(specified > 0.0))
            continue;
        grid_cell(&grid, ceiling_label(device, i));
        cell(&grid, is_time ? format_time_ns(measured * 1e9) : format_si(measured, ceiling_info[i].unit));
        cell(&grid, is_time ? format_time_ns(specified * 1e9) : format_si(specified, ceiling_info[i].unit));
        cell(&grid, format_percent(measured / specified));
    }
    return grid;
}

static const struct report_row *fastest_own(const struct report_row *row, size_t rows)
{
    const struct report_row *best = NULL;
    for (size_t i = 0; i < rows; i++)
        if (row[i].state == ROW_OK && !row[i].vendor && !row[i].above_roof &&
            (!best || report_ratio(best, &row[i]) > 1.0))
            best = &row[i];
    return best;
}

struct grid table_summary(const struct report_device *device)
{
    struct grid grid = {0};
    grid_column(&grid, "family", false);
    grid_column(&grid, "shape", false);
    grid_column(&grid, "mode", false);
    grid_column(&grid, "fastest own step", false);
    grid_column(&grid, "time", true);
    grid_column(&grid, device->host ? "GFLOP/s" : "TFLOP/s", true);
    grid_column(&grid, "GB/s", true);
    grid_column(&grid, "of roof", true);
    grid_column(&grid, "bound", false);
    grid_column(&grid, "of library", true);
    for (size_t f = 0; f < device->families; f++) {
        const struct report_family *family = &device->family[f];
        for (size_t begin = 0, end; begin < family->rows && family->kind != KIND_PLANS; begin = end) {
            end = report_group_end(family, begin);
            const struct report_row *row = fastest_own(&family->row[begin], end - begin);
            if (!row)
                continue;
            grid_cell(&grid, family->name);
            grid_cell(&grid, row->shape);
            grid_cell(&grid, row->mode);
            grid_cell(&grid, row->label);
            cell(&grid, format_time_ns(row->time_ns));
            cell(&grid, format_digits(row->flop_s / (device->host ? 1e9 : 1e12), 3));
            cell(&grid, format_digits(row->byte_s / 1e9, 3));
            cell(&grid, format_percent(row->roof_share));
            cell(&grid, bound_text(row));
            cell(&grid, format_percent(row->vendor_share));
        }
    }
    return grid;
}

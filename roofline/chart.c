/* SPDX-License-Identifier: Apache-2.0 */
#include "roofline/chart.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *mark_meaning(enum mark mark)
{
    static const char *const meaning[MARK_COUNT] = {
        [MARK_MODEL] = "useful work, bytes from the model",
        [MARK_COUNTED] = "useful work, bytes confirmed by counters",
        [MARK_ISSUED_MODEL] = "issued work, from the model",
        [MARK_ISSUED_COUNTED] = "issued work, from counters",
        [MARK_PLACED] = "placed: attainable on these roofs",
        [MARK_PROJECTED] = "projected: measured time scaled, with interval",
        [MARK_EMULATED] = "emulated: ran throttled",
        [MARK_ERROR] = "above a roof: accounting error",
    };
    return meaning[mark];
}

static void scaled_text(double value, const char *unit, const char *const *prefix, int prefixes, char *text,
                        size_t bytes)
{
    int i = 0;
    for (; i + 1 < prefixes && fabs(value) >= 999.5; i++)
        value /= 1000;
    int decimals = fabs(value) >= 99.95 ? 0 : fabs(value) >= 9.995 ? 1 : 2;
    if (isfinite(value))
        snprintf(text, bytes, "%.*f %s%s", decimals, value, prefix[i], unit);
    else
        snprintf(text, bytes, "-");
}

void rate_text(double rate, const char *unit, char *text, size_t bytes)
{
    static const char *const prefix[] = {"", "k", "M", "G", "T", "P", "E"};
    scaled_text(rate, unit, prefix, 7, text, bytes);
}

void time_text(double seconds, char *text, size_t bytes)
{
    static const char *const prefix[] = {"n", "u", "m", ""};
    scaled_text(seconds * 1e9, "s", prefix, 4, text, bytes);
}

/* A number outside is a mistake in a record, and an axis that reaches it shows nothing else. */
static bool on_paper(double value)
{
    return value > 1e-30 && value < 1e30;
}

static void add_roof(struct chart *chart, const char *name, double rate, bool slanted, bool measured)
{
    if (!on_paper(rate) || chart->roofs == CHART_ROOFS)
        return;
    struct chart_roof *roof = &chart->roof[chart->roofs++];
    char text[32];
    rate_text(rate, slanted ? "B/s" : "FLOP/s", text, sizeof text);
    *roof = (struct chart_roof){.rate = rate, .slanted = slanted, .measured = measured};
    snprintf(roof->label, sizeof roof->label, "%s %s %s", name, text, measured ? "measured" : "specified");
}

/* Two lines this close have room for one text: the measured one names both. */
static void add_compute_roof(struct chart *chart, const char *name, double rate, bool measured)
{
    size_t length = strlen(name);
    int before = chart->roofs;
    add_roof(chart, name, rate, false, measured);
    if (chart->roofs == before)
        return;
    struct chart_roof *roof = &chart->roof[before];
    for (int i = 0; i < before && measured; i++) {
        struct chart_roof *other = &chart->roof[i];
        if (other->slanted || strncmp(other->label, name, length) != 0 || !(fabs(log10(other->rate / rate)) < 0.12))
            continue;
        size_t used = strlen(roof->label);
        snprintf(roof->label + used, sizeof roof->label - used, ",%s", other->label + length);
        other->label[0] = '\0';
    }
}

static void add_memory_roofs(struct chart *chart, enum level level, const struct ceilings *c, bool measured, bool host)
{
    const char *label = level_label(level, host);
    if (level == LEVEL_L2)
        add_roof(chart, label, c->l2, true, measured);
    if (level == LEVEL_SMEM)
        add_roof(chart, label, c->smem, true, measured);
    if (level != LEVEL_HBM)
        return;
    if (!measured) {
        add_roof(chart, label, c->hbm_read, true, false);
        return;
    }
    char name[48];
    snprintf(name, sizeof name, "%s read", label);
    add_roof(chart, name, c->hbm_read, true, true);
    snprintf(name, sizeof name, "%s copy", label);
    if (!(fabs(c->hbm_copy / c->hbm_read - 1) < 0.02))
        add_roof(chart, name, c->hbm_copy, true, true);
}

static bool drawable(const struct point *p, enum level level)
{
    return on_paper(p->useful_flop / p->level[level].useful_bytes) && on_paper(p->useful_flop / p->time_s);
}

static bool uses(const struct point_list *points, enum level level, const char *key)
{
    for (size_t i = 0; i < points->count; i++) {
        if (!drawable(&points->point[i], level))
            continue;
        if (work_number(record_get(points->point[i].record, "work.useful"), key) > 0 ||
            work_number(record_get(points->point[i].record, "work.issued"), key) > 0)
            return true;
    }
    return false;
}

static void add_compute_roofs(struct chart *chart, const struct point_list *points, enum level level,
                              const struct ceilings *c, bool measured, bool host)
{
    if (uses(points, level, "flop_fp8"))
        add_compute_roof(chart, "FP8 tensor", c->tensor_fp8, measured);
    if (!host && uses(points, level, "flop_bf16"))
        add_compute_roof(chart, "BF16 tensor", c->tensor_bf16, measured);
    if (uses(points, level, "flop_fp32") || (host && uses(points, level, "flop_bf16")))
        add_compute_roof(chart, "FP32", c->fp32, measured);
}

static void safe_stem(const char *name, enum level level, char *stem, size_t bytes)
{
    snprintf(stem, bytes, "roofline_%.60s_%s", name, level_name(level));
    for (char *c = stem; *c; c++)
        *c = isalnum((unsigned char)*c) || *c == '-' || *c == '_' ? (char)tolower((unsigned char)*c) : '-';
}

static bool host_points(const struct point_list *points)
{
    return points->count > 0 && record_is(points->point[0].record, "device.kind", "host");
}

static const char *text_of(const json_t *record, const char *path)
{
    const char *text = record_string(record, path);
    return text && *text ? text : "unknown";
}

static struct chart_entry *add_entry(struct chart *chart, const struct point *p)
{
    struct chart_entry *entry = &chart->entry[chart->entries++];
    *entry = (struct chart_entry){.family = p->family, .family_index = p->family_index};
    snprintf(entry->name, sizeof entry->name, "%s", p->name);
    return entry;
}

static void measured_entry(struct chart *chart, const struct point *p, enum level level, const struct ceilings *merged)
{
    bool host = record_is(p->record, "device.kind", "host");
    struct chart_entry *entry = add_entry(chart, p);
    bool counted = p->level[level].counted, differs = point_differs(p, level);
    entry->main = (struct chart_mark){counted && !differs ? MARK_COUNTED : MARK_MODEL,
                                      p->useful_flop / p->level[level].useful_bytes, p->useful_flop / p->time_s};
    if (differs && on_paper(p->issued_flop / p->level[level].issued_bytes) && on_paper(p->issued_flop / p->time_s))
        entry->second = (struct chart_mark){counted ? MARK_ISSUED_COUNTED : MARK_ISSUED_MODEL,
                                            p->issued_flop / p->level[level].issued_bytes, p->issued_flop / p->time_s};
    struct bound bound = record_bound(p->record, merged);
    double share = 100 * bound.floor_s / p->time_s;
    entry->above_roof = record_exceeds(p->record, merged);
    rate_text(entry->main.y, "FLOP/s", entry->value, sizeof entry->value);
    if (entry->above_roof)
        snprintf(entry->note, sizeof entry->note, "ABOVE roof: %s", bound_name(bound.first, host));
    else if (bound.floor_s > 0)
        snprintf(entry->note, sizeof entry->note, share < 9.5 ? "%.1f %% %s" : "%.0f %% %s", share,
                 bound_name(bound.first, host));
}

static int start(const struct point_list *points, struct chart *chart, struct ridge_error *err)
{
    *chart = (struct chart){.roofs = 0};
    chart->entry = calloc(points->count + 1, sizeof *chart->entry);
    if (!chart->entry)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "out of memory for %zu points", points->count);
    return RIDGE_OK;
}

int chart_measured(const struct point_list *points, enum level level, const struct ceilings *measured,
                   const struct device_spec *specified, struct chart *chart, struct ridge_error *err)
{
    int status = start(points, chart, err);
    if (status || points->count == 0)
        return status;
    bool host = host_points(points);
    const json_t *record = points->point[0].record;
    const char *profile = record_string(record, "device.profile"), *device = text_of(record, "device.name");
    struct ceilings merged = specified ? ceilings_merge(measured, &specified->specified) : *measured;

    snprintf(chart->title, sizeof chart->title, "%s: %s roofline, measured", device, level_label(level, host));
    snprintf(chart->subtitle, sizeof chart->subtitle, "ridge %s, commit %.12s, %s%s%s", text_of(record, "run.version"),
             text_of(record, "run.git"), text_of(record, "run.time_utc"), specified ? "; specified roofs: " : "",
             specified ? specified->name : "");
    snprintf(chart->x_label, sizeof chart->x_label, "FLOP per byte of %s traffic", level_label(level, host));
    safe_stem(profile && *profile ? profile : device, level, chart->stem, sizeof chart->stem);
    chart->value_title = "useful";
    chart->note_title = "of its bound";
    if (specified)
        add_memory_roofs(chart, level, &specified->specified, false, host);
    add_memory_roofs(chart, level, measured, true, host);
    if (specified)
        add_compute_roofs(chart, points, level, &specified->specified, false, host);
    add_compute_roofs(chart, points, level, measured, true, host);
    for (size_t i = 0; i < points->count; i++)
        if (drawable(&points->point[i], level) && !points->point[i].emulated)
            measured_entry(chart, &points->point[i], level, &merged);
    return RIDGE_OK;
}

static void elsewhere_entry(struct chart *chart, const struct point *p, enum level level, const struct ceilings *source,
                            const struct device_spec *target)
{
    double x = p->useful_flop / p->level[level].useful_bytes;
    struct placed placed = place(p->record, &target->specified);
    if (p->emulated) {
        struct chart_entry *entry = add_entry(chart, p);
        entry->main = (struct chart_mark){MARK_EMULATED, x, p->useful_flop / p->time_s};
        rate_text(entry->main.y, "FLOP/s", entry->note, sizeof entry->note);
        return;
    }
    if (!on_paper(p->useful_flop / placed.floor_s))
        return;
    struct chart_entry *entry = add_entry(chart, p);
    struct projected projected = project(p->record, source, &target->specified);
    entry->main = (struct chart_mark){MARK_PLACED, x, p->useful_flop / placed.floor_s};
    rate_text(entry->main.y, "FLOP/s", entry->value, sizeof entry->value);
    if (!on_paper(p->useful_flop / projected.seconds) || !on_paper(p->useful_flop / projected.high_s) ||
        !on_paper(p->useful_flop / projected.low_s))
        return;
    char text[32];
    entry->second = entry->main;
    entry->main = (struct chart_mark){MARK_PROJECTED, x, p->useful_flop / projected.seconds};
    entry->low = p->useful_flop / projected.high_s;
    entry->high = p->useful_flop / projected.low_s;
    rate_text(entry->main.y, "FLOP/s", text, sizeof text);
    snprintf(entry->note, sizeof entry->note, "%s %s", text, resource_name(projected.bound));
}

int chart_elsewhere(const struct point_list *points, enum level level, const struct ceilings *source,
                    const struct device_spec *target, struct chart *chart, struct ridge_error *err)
{
    int status = start(points, chart, err);
    if (status || points->count == 0)
        return status;
    const json_t *record = points->point[0].record;
    char stem[96];
    snprintf(chart->title, sizeof chart->title, "%s: %s roofline, placed and projected from %s", target->name,
             level_label(level, false), text_of(record, "device.name"));
    snprintf(chart->subtitle, sizeof chart->subtitle,
             "Nothing here was measured on %s. Roofs are specified. ridge %s, commit %.12s, records of %s",
             target->name, text_of(record, "run.version"), text_of(record, "run.git"), text_of(record, "run.time_utc"));
    snprintf(chart->x_label, sizeof chart->x_label, "FLOP per byte of %s traffic", level_label(level, false));
    snprintf(stem, sizeof stem, "%s_placed", target->id);
    safe_stem(stem, level, chart->stem, sizeof chart->stem);
    chart->value_title = "placed";
    chart->note_title = "projected";
    add_memory_roofs(chart, level, &target->specified, false, false);
    add_compute_roofs(chart, points, level, &target->specified, false, false);
    for (size_t i = 0; i < points->count; i++) {
        const struct point *p = &points->point[i];
        if (drawable(p, level) && (!p->emulated || record_is(p->record, "mode.emulate.requested", target->id)))
            elsewhere_entry(chart, p, level, source, target);
    }
    return RIDGE_OK;
}

void chart_free(struct chart *chart)
{
    free(chart->entry);
    *chart = (struct chart){.roofs = 0};
}

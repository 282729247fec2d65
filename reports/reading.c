/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/tables.h"

#include <math.h>
#include <string.h>

#include "reports/format.h"

/* Below this share of its highest roof the model does not explain a time. */
static const double explained = 0.5;
/* Two steps this close are called equal. */
static const double equal = 0.02;

enum kind { OWN, OWN_ABOVE_ROOF, VENDOR };

static const struct report_row *fastest(const struct report_row *row, size_t rows, enum kind kind)
{
    const struct report_row *best = NULL;
    for (size_t i = 0; i < rows; i++)
        if (row[i].state == ROW_OK && row[i].vendor == (kind == VENDOR) && !row[i].ladder_break &&
            (kind == VENDOR || row[i].above_roof == (kind == OWN_ABOVE_ROOF)) &&
            (!best || report_ratio(best, &row[i]) > 1.0))
            best = &row[i];
    return best;
}

static const char *idea(const struct report_row *row)
{
    const char *text = record_string(row->record, "variant.idea");
    return text ? text : "";
}

static struct text rates(const struct report_row *row)
{
    if (row->flop_s > 0.0 && row->byte_s > 0.0)
        return text_of("%s and %s", format_si(row->flop_s, "FLOP/s").s, format_si(row->byte_s, "B/s").s);
    return row->flop_s > 0.0 ? format_si(row->flop_s, "FLOP/s") : format_si(row->byte_s, "B/s");
}

static void write_bound(FILE *out, const struct report_row *best)
{
    const struct bound *bound = &best->bound;
    const char *label = row_resource_label(best, bound->first);
    struct text share = format_percent(best->roof_share);
    bool second = bound->seconds[bound->second] > 0.0 && bound->second != bound->first;
    if (best->roof_share < explained)
        fprintf(out,
                " No resource explains the time: the highest demand, on %s, fills %s of it. Look for latency, issue"
                " slots, or a demand that the work does not declare.",
                label, share.s);
    else if (bound->first == RES_WAVE)
        fprintf(out,
                " It is bound by %s with a partly filled last wave, which lengthens the floor %s: %s of that roof.",
                second ? row_resource_label(best, bound->second) : "its tiles", format_factor(bound->wave).s, share.s);
    else
        fprintf(out, " It is bound by %s: %s of that roof.", label, share.s);
    if (second && bound->first != RES_WAVE)
        fprintf(out, " Next is %s at %s.", row_resource_label(best, bound->second),
                format_percent(bound->seconds[bound->second] / bound->floor_s * best->roof_share).s);
}

static void write_best(FILE *out, const struct report_row *best)
{
    fprintf(out, "- Fastest step at %s: `%s`, %s (%s).", best->shape, best->label, format_time_ns(best->time_ns).s,
            rates(best).s);
    if (!(best->roof_share > 0.0)) {
        fputs(" No ceiling is known for what it does, so there is no roof to hold it against.\n", out);
        return;
    }
    write_bound(out, best);
    if (best->useful_share < 0.95 * best->roof_share)
        fprintf(out, " It issues more than the problem needs: counted by useful work the share is %s.",
                format_percent(best->useful_share).s);
    fputc('\n', out);
}

static void write_gain(FILE *out, const struct report_row *row, size_t rows)
{
    const struct report_row *most = NULL;
    for (size_t i = 0; i < rows; i++)
        if (row[i].speedup > 1.0 + equal && (!most || row[i].speedup > most->speedup))
            most = &row[i];
    if (most)
        fprintf(out, "- Largest gain: `%s` is %s faster than `%s` (%s).\n", most->label, format_factor(most->speedup).s,
                most->over->label, idea(most));
    for (size_t i = 0; i < rows; i++)
        if (row[i].speedup < 1.0 - equal)
            fprintf(out, "- Lost: `%s` takes %s the time of `%s` (%s).\n", row[i].label,
                    format_factor(1.0 / row[i].speedup).s, row[i].over->label, idea(&row[i]));
        else if (row[i].speedup <= 1.0 + equal)
            fprintf(out, "- No difference: `%s` is within %s of `%s` (%s).\n", row[i].label, format_percent(equal).s,
                    row[i].over->label, idea(&row[i]));
}

static void write_bounds(FILE *out, const struct report_row *row, size_t rows)
{
    const struct report_row *before = NULL;
    bool any = false;
    for (size_t i = 0; i < rows; i++) {
        if (row[i].state != ROW_OK || row[i].vendor || row[i].ladder_break || !bound_explains(row[i].roof_share, 1.0))
            continue;
        if (before && before->bound.first != row[i].bound.first) {
            fprintf(out, "%s from %s to %s at `%s`", any ? "," : "- The bound moves",
                    row_resource_label(before, before->bound.first), row_resource_label(&row[i], row[i].bound.first),
                    row[i].label);
            any = true;
        }
        before = &row[i];
    }
    if (any)
        fputs(".\n", out);
}

static void write_library(FILE *out, const struct report_row *best, const struct report_row *library)
{
    double share = report_ratio(library, best);
    if (!(share > 0.0))
        return;
    fprintf(out, "- `%s` takes %s", library->label, format_time_ns(library->time_ns).s);
    if (library->roof_share > 0.0 && !library->above_roof)
        fprintf(out, ", %s of its %s roof", format_percent(library->roof_share).s,
                row_resource_label(library, library->bound.first));
    fprintf(out, "; the fastest step reaches %s of its speed.\n", format_percent(share).s);
}

/* How the fastest step of every group stands, when there are several. */
static void write_range(FILE *out, const struct report_family *family)
{
    const struct report_row *low = NULL, *high = NULL;
    size_t groups = 0;
    for (size_t begin = 0, end; begin < family->rows; begin = end) {
        end = report_group_end(family, begin);
        const struct report_row *best = fastest(&family->row[begin], end - begin, OWN);
        if (!best || !(best->roof_share > 0.0))
            continue;
        groups++;
        if (!low || best->roof_share < low->roof_share)
            low = best;
        if (!high || best->roof_share > high->roof_share)
            high = best;
    }
    if (groups > 1)
        fprintf(out,
                "- Over %zu shapes and modes the fastest step reaches from %s (%s, `%s`, %s) to %s (%s, `%s`, %s)"
                " of the roof that binds it.\n",
                groups, format_percent(low->roof_share).s, low->shape, low->label, row_resource(low, low->bound.first),
                format_percent(high->roof_share).s, high->shape, high->label, row_resource(high, high->bound.first));
}

void reading_write(FILE *out, const struct report_family *family)
{
    /* The sentences speak of the largest problem: the group whose fastest step has the highest floor. */
    const struct report_row *best = NULL;
    size_t first = 0, rows = 0;
    for (size_t begin = 0, end; begin < family->rows; begin = end) {
        end = report_group_end(family, begin);
        const struct report_row *candidate = fastest(&family->row[begin], end - begin, OWN);
        if (candidate && (!best || candidate->bound.floor_s > best->bound.floor_s)) {
            best = candidate;
            first = begin;
            rows = end - begin;
        }
    }
    if (!best) {
        fputs("- No step of this ladder was timed.\n", out);
        return;
    }
    const struct report_row *library = fastest(&family->row[first], rows, VENDOR);
    write_best(out, best);
    const struct report_row *above = fastest(&family->row[first], rows, OWN_ABOVE_ROOF);
    if (above && report_ratio(best, above) > 1.0)
        fprintf(out,
                "- `%s` is %s faster still, but above a roof, and so not taken for a result: its work or the ceiling"
                " is wrong.\n",
                above->label, format_factor(report_ratio(best, above)).s);
    write_gain(out, &family->row[first], rows);
    write_bounds(out, &family->row[first], rows);
    if (library)
        write_library(out, best, library);
    write_range(out, family);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/tables.h"

#include <math.h>
#include <string.h>

#include "reports/format.h"

/* Notes collect under one line a cause: {"skipped, <reason>": "02_x at 4096, 03_y at 4096"}, in order of appearance. */
static void collect(json_t *notes, const char *cause, const struct report_row *row, bool name)
{
    json_t *list = json_object_get(notes, cause);
    if (!list) {
        list = json_array();
        json_object_set_new(notes, cause, list);
    }
    json_array_append_new(list, name ? json_sprintf("%s at %s", row->label, row->shape) : json_true());
}

static void collect_state(json_t *notes, const struct report_row *row)
{
    const char *reason = record_string(row->record, "reason");
    char cause[700];
    if (row->state == ROW_SKIP || row->state == ROW_FAIL) {
        snprintf(cause, sizeof cause, "%s (%s)", row->state == ROW_SKIP ? "skipped" : "FAILED",
                 reason && *reason ? reason : "no reason was recorded");
        collect(notes, cause, row, true);
    }
    if (row->state == ROW_BELOW_QUANTUM) {
        snprintf(cause, sizeof cause, "shorter than the %s quantum of the timer, no figure is given",
                 format_time_ns(record_number(row->record, "device.timer.event_quantum_ns")).s);
        collect(notes, cause, row, true);
    }
    if (row->state == ROW_UNTIMED)
        collect(notes, "status ok, but the record holds no time", row, true);
    if (row->state == ROW_OK && !record_is(row->record, "check.status", "ok") &&
        !record_is(row->record, "check.status", "none"))
        collect(notes, "timed although the check failed", row, true);
    if (row->state == ROW_OK && record_is(row->record, "check.status", "none"))
        collect(notes, "results were not checked", row, true);
}

/* Resources that no ceiling family of the host measures. */
static bool host_has_none(const struct report_row *row, enum resource resource)
{
    return row->host && (resource == RES_EXP || resource == RES_CONVERT);
}

static const char *remedy(const struct report_row *row, enum resource resource)
{
    if (host_has_none(row, resource))
        return ": no family measures it on the CPU";
    if (row->host && resource == RES_HBM)
        return "; measure it with --family 'ceiling_host_*', into the same file or one that is named beside it, and "
               "where"
               " the caches hold its presets with --shape bytes=N,passes=1, N four times the caches' size";
    return "; measure it with --family 'ceiling_*', into the same file or one that is named beside it";
}

static void collect_roof(json_t *notes, const struct report_row *row)
{
    char cause[500];
    if (row->above_roof) {
        snprintf(cause, sizeof cause,
                 "ACCOUNTING ERROR or a roof that was measured too low%s, faster than the %s roof allows",
                 row->host ? " (by other work on the CPU)" : "", row_resource_label(row, row->bound.first));
        collect(notes, cause, row, true);
    }
    if (row->state != ROW_OK)
        return;
    for (int r = 0; r < RES_LAUNCH; r++)
        if (isnan(row->bound.seconds[r])) {
            snprintf(cause, sizeof cause, "no ceiling is known for %s, it is left out of the bound%s",
                     row_resource_label(row, (enum resource)r), remedy(row, (enum resource)r));
            collect(notes, cause, row, false);
        }
}

/* Modes that the counters contradict, or those that nothing could verify. */
static void collect_modes(json_t *notes, const struct report_row *row, const char *verdict)
{
    static const char *const axes[] = {"cache", "launch", "power", "fill", "emulate"};
    bool contradicted = strcmp(verdict, "contradicted") == 0;
    for (size_t i = 0; i < sizeof axes / sizeof *axes && row->state == ROW_OK; i++) {
        const json_t *mode = json_object_get(record_get(row->record, "mode"), axes[i]);
        const char *evidence = record_string(mode, "evidence");
        char cause[400];
        if (!record_is(mode, "verified", verdict))
            continue;
        if (contradicted) /* the evidence differs from row to row */
            snprintf(cause, sizeof cause, "%s=%s is CONTRADICTED by the counters", axes[i],
                     record_string(mode, "requested"));
        else
            snprintf(cause, sizeof cause, "%s=%s is unverified (%s)", axes[i], record_string(mode, "requested"),
                     evidence ? evidence : "no evidence was recorded");
        collect(notes, cause, row, contradicted);
    }
}

static void write_collected(FILE *out, const char *prefix, json_t *notes, size_t all)
{
    const char *cause;
    json_t *list, *name;
    json_object_foreach(notes, cause, list)
    {
        size_t rows = json_array_size(list), i;
        fprintf(out, "%s%s: ", prefix, cause);
        if (!json_is_string(json_array_get(list, 0)))
            fprintf(out, "%zu of %zu measurements", rows, all);
        else
            json_array_foreach(list, i, name) fprintf(out, "%s%s", i ? ", " : "", json_string_value(name));
        fputc('\n', out);
    }
}

void notes_write(FILE *out, const char *prefix, const struct report_family *family)
{
    json_t *notes = json_object();
    for (size_t i = 0; i < family->rows; i++) {
        collect_state(notes, &family->row[i]);
        collect_roof(notes, &family->row[i]);
        collect_modes(notes, &family->row[i], "contradicted");
    }
    write_collected(out, prefix, notes, family->rows);
    json_decref(notes);
}

static void collect_counters(json_t *notes, const struct report_row *row)
{
    if (row->host || row->state != ROW_OK || !record_is(row->record, "counters.source", "none"))
        return;
    const char *reason = record_string(row->record, "counters.reason");
    char cause[700];
    snprintf(cause, sizeof cause, "without counters (%s)", reason && *reason ? reason : "no reason was recorded");
    collect(notes, cause, row, false);
}

void notes_write_evidence(FILE *out, const char *prefix, const struct report_device *device)
{
    json_t *notes = json_object();
    for (size_t i = 0; i < device->rows; i++) {
        collect_modes(notes, &device->row[i], "unverified");
        collect_counters(notes, &device->row[i]);
    }
    write_collected(out, prefix, notes, device->rows);
    json_decref(notes);
}

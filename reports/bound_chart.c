/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/bound_chart.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "reports/format.h"
#include "reports/script_chart.h"
#include "reports/tables.h"

void bound_chart_name(const struct report *report, const struct report_device *device,
                      const struct report_family *family, char *buf, size_t bytes)
{
    size_t before = 0;
    for (const struct report_device *d = report->device; d < device; d++)
        before += d->host == device->host;
    snprintf(buf, bytes, "bound_%.100s%s", family->name, device->host ? "_host" : "");
    for (char *c = buf; *c; c++) /* a name in a record must not become another folder's */
        if (!isalnum((unsigned char)*c) && *c != '_' && *c != '-')
            *c = '-';
    size_t used = strlen(buf);
    if (before)
        snprintf(buf + used, bytes - used, "_%zu", before + 1);
}

bool bound_chart_wanted(const struct report_family *family)
{
    for (size_t i = 0; i < family->rows && family->kind == KIND_LADDER; i++)
        if (family->row[i].state == ROW_OK && family->row[i].roof_share > 0.0)
            return true;
    return false;
}

static json_t *row_json(const struct report_row *row)
{
    json_t *shares = json_object();
    double seconds = row->time_ns * 1e-9;
    for (int r = 0; r < RES_COUNT; r++)
        if (row->bound.seconds[r] > 0.0)
            json_object_set_new(shares, resource_name((enum resource)r), json_real(row->bound.seconds[r] / seconds));
    return json_pack("{s:s, s:s, s:s, s:f, s:o}", "variant", row->label, "time", format_time_ns(row->time_ns).s,
                     "bound", resource_name(row->bound.first), "useful_share",
                     isfinite(row->useful_share) ? row->useful_share : 0.0, "share", shares);
}

static json_t *chart_json(const struct report *report, const struct report_device *device,
                          const struct report_family *family)
{
    char name[128];
    bound_chart_name(report, device, family, name, sizeof name);
    json_t *groups = json_array(), *labels = json_object();
    for (size_t begin = 0, end; begin < family->rows; begin = end) {
        end = report_group_end(family, begin);
        json_t *rows = json_array();
        for (size_t i = begin; i < end; i++)
            if (family->row[i].state == ROW_OK && family->row[i].roof_share > 0.0)
                json_array_append_new(rows, row_json(&family->row[i]));
        json_t *group = json_pack("{s:s, s:s, s:o}", "shape", family->row[begin].shape, "mode", family->row[begin].mode,
                                  "rows", rows);
        if (json_array_size(rows))
            json_array_append(groups, group);
        json_decref(group);
    }
    for (int r = 0; r < RES_COUNT; r++)
        json_object_set_new(labels, resource_name((enum resource)r),
                            json_string(row_resource_label(family->row, (enum resource)r)));
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "file", name, "family", family->name, "device", device->name,
                     "axes", family_axes(family).s, "resources", labels, "groups", groups);
}

static json_t *all_json(const struct report *report)
{
    json_t *charts = json_array();
    for (size_t d = 0; d < report->devices; d++)
        for (size_t f = 0; f < report->device[d].families; f++)
            if (bound_chart_wanted(&report->device[d].family[f]))
                json_array_append_new(charts, chart_json(report, &report->device[d], &report->device[d].family[f]));
    return json_pack("{s:o}", "charts", charts);
}

int bound_chart_draw(const struct report *report, const char *dir, char *note, size_t note_bytes,
                     struct ridge_error *err)
{
    json_t *json = all_json(report);
    int status = RIDGE_OK;
    *note = '\0';
    if (json_array_size(json_object_get(json, "charts")))
        status = script_chart_draw(dir, "bound_chart", "bound_chart", "bound charts", json, note, note_bytes, err);
    json_decref(json);
    return status;
}

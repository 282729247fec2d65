/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/bound_chart.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assets.h"
#include "reports/format.h"
#include "reports/tables.h"

extern char **environ;

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
    for (size_t i = 0; i < family->rows; i++)
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

/* Exit status of argv[0] looked up on the path, its output discarded or passed on; -1 if it did not run. */
static int run_program(char *const *argv, bool quiet)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status = -1;
    posix_spawn_file_actions_init(&actions);
    if (quiet) {
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    }
    if (posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ) == 0)
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
    posix_spawn_file_actions_destroy(&actions);
    return status != -1 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

const char *python_with_matplotlib(void)
{
    const char *const candidates[] = {getenv("RIDGE_PYTHON"), "python3",    "/usr/bin/python3",
                                      "python3.14",           "python3.13", "python3.12",
                                      "python3.11",           "python3.10", "python3.9"};
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
        char *argv[] = {(char *)candidates[i], "-c", "import matplotlib", NULL};
        if (candidates[i] && *candidates[i] && run_program(argv, true) == 0)
            return candidates[i];
    }
    return NULL;
}

static int write_file(const char *path, const char *text, size_t bytes, struct ridge_error *err)
{
    FILE *file = fopen(path, "w");
    bool wrote = file && fwrite(text, 1, bytes, file) == bytes;
    if (file && fclose(file) != 0)
        wrote = false;
    return wrote ? RIDGE_OK : ridge_fail(err, RIDGE_ENVIRONMENT, "%s: %s", path, strerror(errno));
}

int bound_chart_draw(const struct report *report, const char *dir, char *note, size_t note_bytes,
                     struct ridge_error *err)
{
    char data[4096], script[4096];
    const struct asset *asset = asset_find("reports/bound_chart.py");
    json_t *json = all_json(report);
    char *text = json_dumps(json, JSON_INDENT(1) | JSON_REAL_PRECISION(6) | JSON_PRESERVE_ORDER);
    int status = RIDGE_OK;
    *note = '\0';
    if (!json_array_size(json_object_get(json, "charts")))
        goto out;
    if (!text || !asset) {
        status = ridge_fail(err, RIDGE_ENVIRONMENT, "the bound chart's data could not be made");
        goto out;
    }
    snprintf(data, sizeof data, "%s/bound_chart.json", dir);
    snprintf(script, sizeof script, "%s/bound_chart.py", dir);
    status = write_file(data, text, strlen(text), err);
    if (!status)
        status = write_file(script, asset->text, asset->bytes, err);
    if (status)
        goto out;
    const char *python = python_with_matplotlib();
    char *argv[] = {(char *)python, script, data, NULL};
    if (!python)
        snprintf(note, note_bytes,
                 "no bound charts: no Python with matplotlib was found (set RIDGE_PYTHON); draw them later with:"
                 " python3 %s %s",
                 script, data);
    else if (run_program(argv, false) != 0)
        snprintf(note, note_bytes, "no bound charts: %s %s %s failed", python, script, data);
out:
    free(text);
    json_decref(json);
    return status;
}

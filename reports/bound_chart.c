/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* pipe2 */
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
#include "base/whole_file.h"
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

/* Reads to the end; the last line with text in it, which of a Python traceback is the error, into `last`. */
static void read_last_line(int fd, char *last, size_t bytes)
{
    char *line = NULL;
    size_t capacity = 0;
    FILE *in = fdopen(fd, "r");
    if (!in) {
        close(fd);
        return;
    }
    while (getline(&line, &capacity, in) > 0)
        if (line[strspn(line, " \t\r\n")])
            snprintf(last, bytes, "%.*s", (int)strcspn(line, "\r\n"), line);
    free(line);
    fclose(in);
}

/* Exit status of argv[0] looked up on the path, -1 if it did not run. Its output is discarded; `last` (of `bytes`) is
 * the last line of its error output, or empty. */
static int run_program(char *const *argv, char *last, size_t bytes)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status = -1, fds[2];
    *last = '\0';
    if (pipe2(fds, O_CLOEXEC) != 0)
        return -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, fds[1], STDERR_FILENO);
    bool runs = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    close(fds[1]);
    read_last_line(fds[0], last, bytes);
    while (runs && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status != -1 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

const char *python_with_matplotlib(void)
{
    const char *const candidates[] = {getenv("RIDGE_PYTHON"), "python3",    "/usr/bin/python3",
                                      "python3.14",           "python3.13", "python3.12",
                                      "python3.11",           "python3.10", "python3.9"};
    char last[8];
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
        char *argv[] = {(char *)candidates[i], "-c", "import matplotlib", NULL};
        if (candidates[i] && *candidates[i] && run_program(argv, last, sizeof last) == 0)
            return candidates[i];
    }
    return NULL;
}

int bound_chart_draw(const struct report *report, const char *dir, char *note, size_t note_bytes,
                     struct ridge_error *err)
{
    char data[4096], script[4096], last[400];
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
    status = whole_file_write(data, text, strlen(text), err);
    if (!status)
        status = whole_file_write(script, asset->text, asset->bytes, err);
    if (status)
        goto out;
    const char *python = python_with_matplotlib();
    char *argv[] = {(char *)python, script, data, NULL};
    if (!python)
        snprintf(note, note_bytes,
                 "no bound charts: no Python with matplotlib was found (set RIDGE_PYTHON); draw them later with:"
                 " python3 %s %s",
                 script, data);
    else if (run_program(argv, last, sizeof last) != 0)
        snprintf(note, note_bytes, "no bound charts: %s %s %s failed%s%s", python, script, data, *last ? ": " : "",
                 last);
out:
    free(text);
    json_decref(json);
    return status;
}

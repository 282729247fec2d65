/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* pipe2 */
#include "reports/script_chart.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assets.h"
#include "base/whole_file.h"

extern char **environ;

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

int script_chart_draw(const char *dir, const char *name, const char *script, const char *what, const json_t *data,
                      char *note, size_t note_bytes, struct ridge_error *err)
{
    char data_path[4096], script_path[4096], asset_name[128], last[400];
    snprintf(asset_name, sizeof asset_name, "reports/%s.py", script);
    snprintf(data_path, sizeof data_path, "%s/%s.json", dir, name);
    snprintf(script_path, sizeof script_path, "%s/%s.py", dir, script);
    const struct asset *asset = asset_find(asset_name);
    char *text = json_dumps(data, JSON_INDENT(1) | JSON_REAL_PRECISION(9) | JSON_PRESERVE_ORDER);
    *note = '\0';
    int status = RIDGE_OK;
    if (!text || !asset)
        status = ridge_fail(err, RIDGE_ENVIRONMENT, "the data of chart %s could not be made", name);
    if (!status)
        status = whole_file_write(data_path, text, strlen(text), err);
    if (!status)
        status = whole_file_write(script_path, asset->text, asset->bytes, err);
    free(text);
    if (status)
        return status;
    const char *python = python_with_matplotlib();
    char *argv[] = {(char *)python, script_path, data_path, NULL};
    if (!python)
        snprintf(note, note_bytes,
                 "no %s: no Python with matplotlib was found (set RIDGE_PYTHON); draw them later with: python3 %s %s",
                 what, script_path, data_path);
    else if (run_program(argv, last, sizeof last) != 0)
        snprintf(note, note_bytes, "no %s: %s %s %s failed%s%s", what, python, script_path, data_path,
                 *last ? ": " : "", last);
    return RIDGE_OK;
}

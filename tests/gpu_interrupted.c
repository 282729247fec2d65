/* SPDX-License-Identifier: Apache-2.0 */
/* Ctrl-C at any time of a command that measures: exit code 4 and a word about it within seconds, or the command had
 * ended; no figure of a half measurement, and whole records. */
#include "tests/gpu_records.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

enum { LONGEST_S = 6 }; /* the grace of 3 s and what comes before and after */

static const char *const commands[] = {
    "bench --family mla_decode --variant 0[4-9]* --preset full",
    "check --family gemm_bf16",
    "tune gemm_bf16 --shape m=4096,n=2112,k=7168",
    "profile mla_decode_11_lazy_maximum --shape mtp-128x4096 --group stalls",
    "trace mla_decode_05_seesaw --out .",
};

static pid_t start(const char *ridge, const char *command, const char *output)
{
    char *argument[16], text[256];
    int count = 0;
    fflush(stdout);
    const pid_t child = fork();
    if (child != 0)
        return child;
    snprintf(text, sizeof text, "%s", command);
    argument[count++] = (char *)ridge;
    for (char *word = strtok(text, " "); word && count < 15; word = strtok(NULL, " "))
        argument[count++] = word;
    argument[count] = NULL;
    if (!freopen(output, "w", stdout) || dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
        _exit(1);
    execv(ridge, argument);
    _exit(1);
}

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static bool says(const char *path, const char *part)
{
    static char text[1 << 16];
    FILE *file = fopen(path, "r");
    const size_t bytes = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[bytes] = 0;
    return strstr(text, part) != NULL;
}

static int interrupt(const char *ridge, const char *command, int after_ms)
{
    int status = 0;
    const pid_t child = start(ridge, command, "output");
    const struct timespec wait = {after_ms / 1000, after_ms % 1000 * 1000000L};
    nanosleep(&wait, NULL);
    kill(child, SIGINT);
    const double began = now_s();
    waitpid(child, &status, 0);
    const double took = now_s() - began;
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    const bool good = took < LONGEST_S && !says("output", " nan ") &&
                      (code == RIDGE_OK || (code == RIDGE_ENVIRONMENT && says("output", "interrupted")));
    printf("%s%s, after %d ms: exit %d, %.1f s later\n", good ? "" : "FAIL: ", command, after_ms, code, took);
    return !good;
}

int main(int argc, char **argv)
{
    static const int after_ms[] = {300, 1000, 1700};
    char folder[] = "/tmp/ridge-interrupted-XXXXXX", ridge[4096];
    int failures = 0;
    (void)argc;
    gpu_required();
    if (!realpath(gpu_ridge(argv[0]), ridge) || !mkdtemp(folder) || chdir(folder) != 0)
        return 1;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        for (size_t j = 0; j < sizeof after_ms / sizeof *after_ms; j++)
            failures += interrupt(ridge, commands[i], after_ms[j]);
    return failures > 0 || system("rm -f output trace_*") != 0 || chdir("/") != 0 || rmdir(folder) != 0;
}

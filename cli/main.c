/* SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/version.h"
#include "cli/commands.h"

static const struct {
    const char *name, *what;
    int (*run)(int argc, char **argv, struct ridge_error *err);
} commands[] = {
    {"list", "families, variants and shapes", cmd_list},
    {"doctor", "what this machine can measure, and what to do where it cannot", cmd_doctor},
    {"bench", "check and time variants, one record each", cmd_bench},
    {"check", "check variants on small and hard inputs", cmd_check},
    {"tune", "times the plans that variants choose from, and the regret of their choice", cmd_tune},
    {"profile", "hardware counters of one variant", cmd_profile},
    {"trace", "when the phases of a kernel run, and what overlaps", cmd_trace},
    {"ceilings", "measured against specified ceilings", cmd_ceilings},
    {"emulation", "how near --emulate comes, and what its times say", cmd_emulation},
    {"roofline", "roofline plots and placement from records", cmd_roofline},
    {"report", "tables and a Markdown report from records", cmd_report},
    {"compare", "verdict on two sets of records", cmd_compare},
    {"kv-cache", "bytes of the key-value cache by format", cmd_kv_cache},
};

static void usage(FILE *out)
{
    fprintf(out, "Usage: ridge COMMAND [OPTION...]\n\n");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].what);
    fprintf(out, "\n'ridge COMMAND --help' describes a command, 'ridge --version' names the build's commit.\n"
                 "Exit codes: 0 good, 1 regression or failed check, 2 usage or invalid input, 3 inconclusive,\n"
                 "4 the environment lacks something or is not comparable, or the run was interrupted.\n");
}

/* Where a standard stream is closed, the next file opened would take its number, and its text would go there. */
static void occupy_standard_streams(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDONLY); /* read-only: writing to it fails, as it should */
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

/* At every exit, that of argp after --help included. */
static void check_output(void)
{
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "ridge: standard output could not be written\n");
        _exit(RIDGE_ENVIRONMENT);
    }
}

int main(int argc, char **argv)
{
    struct ridge_error err = {""};
    char name[64];
    argp_err_exit_status = RIDGE_INVALID;
    occupy_standard_streams();
    atexit(check_output);
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
        usage(argc < 2 ? stderr : stdout);
        return argc < 2 ? RIDGE_INVALID : RIDGE_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("ridge %s %s%s\n", ridge_version, ridge_git_hash, ridge_git_dirty ? " dirty" : "");
        return RIDGE_OK;
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(argv[1], commands[i].name) != 0)
            continue;
        snprintf(name, sizeof name, "ridge %s", argv[1]);
        argv[1] = name;
        int status = commands[i].run(argc - 1, argv + 1, &err);
        if (status && err.text[0])
            fprintf(stderr, "ridge %s: %s\n", commands[i].name, err.text);
        return status;
    }
    if (argv[1][0] == '-')
        fprintf(stderr, "ridge: option '%s' before a command: options follow the command\n\n", argv[1]);
    else
        fprintf(stderr, "ridge: unknown command '%s'\n\n", argv[1]);
    usage(stderr);
    return RIDGE_INVALID;
}

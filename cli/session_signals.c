/* SPDX-License-Identifier: Apache-2.0 */
/* What a signal does to a measuring command: it stops after the sample in progress, or ends the program with a line that
 * says where, and with the records that are not in their file yet. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/shape.h"
#include "cli/session.h"

enum { GRACE_S = 3 }; /* for the sample in progress, after an interruption */

static volatile sig_atomic_t stop_requested;

static int pending_fd, pending_count;
static char *const *volatile pending_line;

void session_pending(int fd, char *const *line, int count)
{
    pending_line = NULL;
    pending_fd = fd;
    pending_count = count;
    pending_line = line;
}

/* For handlers. A line that is cut short is the last. */
static void write_pending(void)
{
    char *const *line = pending_line;
    pending_line = NULL;
    for (int i = 0; line && i < pending_count; i++) {
        const size_t bytes = line[i] ? strlen(line[i]) : 0;
        if (bytes && write(pending_fd, line[i], bytes) != (ssize_t)bytes)
            return;
    }
}

static void on_end(int number)
{
    write_pending();
    signal(number, SIG_DFL);
    raise(number);
}

static void on_interrupt(int number)
{
    stop_requested = 1;
    signal(number, on_end); /* a second one ends the program at once */
    alarm(GRACE_S);
}

static char running[320]; /* for handlers, which may not format */

void session_running(const struct ridge_entry *entry, const int64_t *dim)
{
    char shape[256];
    shape_name(entry->problem, dim, shape, sizeof shape);
    snprintf(running, sizeof running, "%s_%s %s", entry->family, entry->label, shape);
}

static void say(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        return;
}

/* Variants run in this process, so one that crashes takes it along; the records so far are in their file. */
static void on_crash(int number)
{
    say("\nridge: crashed in ");
    say(running[0] ? running : "no variant");
    say("\n");
    on_end(number);
}

/* References, checks and single samples can take minutes. Nothing of them is kept, and records are whole lines. */
static void on_patience_ended(int number)
{
    (void)number;
    write_pending();
    say("\nridge: interrupted in ");
    say(running[0] ? running : "no variant");
    say(": the records so far are complete\n");
    _exit(RIDGE_ENVIRONMENT);
}

void session_handle_signals(void)
{
    static const int crash[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}, end[] = {SIGHUP, SIGPIPE, SIGQUIT};
    signal(SIGINT, on_interrupt);
    signal(SIGTERM, on_interrupt);
    signal(SIGALRM, on_patience_ended);
    for (size_t i = 0; i < sizeof crash / sizeof *crash; i++)
        signal(crash[i], on_crash);
    for (size_t i = 0; i < sizeof end / sizeof *end; i++)
        if (signal(end[i], on_end) == SIG_IGN) /* nohup */
            signal(end[i], SIG_IGN);
}

bool session_interrupted(void)
{
    return stop_requested;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Signals without noise: what the compiler and the counters say about a pair, beside its times. */
#include "reports/compare.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

/* Instruction counts repeat exactly up to spinning waits, DRAM bytes up to what L2 keeps. */
static const double instructions_margin = 0.005, dram_margin = 0.02;

static void add_note(struct pair *pair, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add_note(struct pair *pair, const char *format, ...)
{
    size_t used = strlen(pair->note);
    if (used && used + 2 < sizeof pair->note) {
        strcpy(pair->note + used, "; ");
        used += 2;
    }
    va_list args;
    va_start(args, format);
    vsnprintf(pair->note + used, sizeof pair->note - used, format, args);
    va_end(args);
}

static bool note_change(struct pair *pair, const char *path, const char *name)
{
    double base = record_number(pair->base, path), now = record_number(pair->now, path);
    if (isnan(base) || isnan(now) || base == now)
        return false;
    add_note(pair, "%s %g -> %g", name, base, now);
    return true;
}

static double counter(const json_t *record, const char *name)
{
    const json_t *value = json_object_get(record_get(record, "counters.values"), name);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static bool note_counter(struct pair *pair, const char *metric, const char *name, double margin)
{
    double base = counter(pair->base, metric), now = counter(pair->now, metric);
    if (!(base > 0.0) || isnan(now) || fabs(now / base - 1.0) <= margin)
        return false;
    add_note(pair, "%s %+.1f %%", name, 100.0 * (now / base - 1.0));
    return true;
}

static bool same_text(const struct pair *pair, const char *path)
{
    const char *base = record_string(pair->base, path), *now = record_string(pair->now, path);
    return strcmp(base ? base : "", now ? now : "") == 0;
}

/* Without device code the same commit is the same code, if both builds were clean. */
static bool same_commit(const struct pair *pair)
{
    const char *git = record_string(pair->now, "run.git");
    return same_text(pair, "run.git") && strcmp(git, "unknown") != 0 && same_text(pair, "run.version") &&
           json_is_false(record_get(pair->base, "run.dirty")) && json_is_false(record_get(pair->now, "run.dirty"));
}

static void judge_cause(struct pair *pair, bool launch_differs)
{
    if (pair->verdict != VERDICT_SLOWER && pair->verdict != VERDICT_FASTER)
        return;
    if (pair->vendor) {
        pair->environment = true;
        add_note(pair, "vendor library: environment, not code");
    } else if (strcmp(pair->code, "same") == 0 && !launch_differs) {
        pair->environment = true;
        add_note(pair, "same device code: environment, not code");
    } else if (strcmp(pair->code, "same") == 0) {
        add_note(pair, "same device code, but another launch");
    } else if (strcmp(pair->code, "-") == 0 && same_commit(pair)) {
        pair->environment = true;
        add_note(pair, "same commit: environment, not code");
    }
}

void compare_signals(struct pair *pair, double threshold)
{
    const char *base = record_string(pair->base, "variant.build.cubin_xxh64");
    const char *now = record_string(pair->now, "variant.build.cubin_xxh64");
    bool known = base && now && *base && *now;
    pair->code = !known ? "-" : strcmp(base, now) == 0 ? "same" : "other";
    bool launch = !json_equal(record_get(pair->base, "work.issued"), record_get(pair->now, "work.issued"));
    if (launch)
        add_note(pair, "issued work differs");
    if (!same_text(pair, "variant.note")) {
        launch = true;
        const char *note = record_string(pair->now, "variant.note");
        add_note(pair, "setup chose \"%s\"", note ? note : "");
    }
    launch |= note_change(pair, "variant.build.registers", "registers");
    launch |= note_change(pair, "variant.build.spill_bytes", "spill bytes");
    launch |= note_change(pair, "variant.build.smem_bytes", "shared memory bytes");
    launch |= note_counter(pair, "smsp__inst_executed.sum", "instructions", instructions_margin);
    note_counter(pair, "dram__bytes_read.sum", "DRAM read", dram_margin);
    note_counter(pair, "dram__bytes_write.sum", "DRAM written", dram_margin);
    judge_cause(pair, launch);

    double base_mhz = record_number(pair->base, "clock.sm_mhz.median");
    double now_mhz = record_number(pair->now, "clock.sm_mhz.median");
    pair->clock_ratio = pair->raw.value * now_mhz / base_mhz;
    if ((pair->verdict == VERDICT_SLOWER || pair->verdict == VERDICT_FASTER) &&
        fabs(pair->clock_ratio - 1.0) <= threshold)
        add_note(pair, "equal at equal clock (%.0f -> %.0f MHz)", base_mhz, now_mhz);
}

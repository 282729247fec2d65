/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/format.h"
#include "reports/grid.h"

static const double inconclusive_share = 0.05;

static size_t comparable(const struct comparison *c)
{
    return c->pairs - c->count[VERDICT_NOT_COMPARABLE];
}

/* GPUs must be the same everywhere; a host that differs is only left out while something else can be compared. */
static const struct pair *environment_differs(const struct comparison *c)
{
    for (size_t i = 0; i < c->pairs; i++)
        if (c->pair[i].verdict == VERDICT_NOT_COMPARABLE &&
            (comparable(c) == 0 || record_is(c->pair[i].now, "device.kind", "cuda")))
            return &c->pair[i];
    return NULL;
}

int compare_status(const struct comparison *c, struct ridge_error *err)
{
    const struct pair *differs = environment_differs(c);
    if (differs)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "the environment is not comparable: %s (%s)", differs->note,
                          differs->variant);
    if (comparable(c) == 0)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "nothing to compare: no measurement is in both files");
    size_t slower = c->count[VERDICT_SLOWER] - c->slower_environment, broken = c->count[VERDICT_BROKEN];
    if (slower + broken)
        return ridge_fail(err, RIDGE_REGRESSION, "regression: %zu slower, %zu broken, of %zu pairs", slower, broken,
                          comparable(c));
    size_t open = c->count[VERDICT_INCONCLUSIVE];
    if ((double)open > inconclusive_share * (double)comparable(c))
        return ridge_fail(err, RIDGE_INCONCLUSIVE, "inconclusive: %zu of %zu pairs", open, comparable(c));
    return RIDGE_OK;
}

char *compare_summary(const struct comparison *c)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return NULL;
    fprintf(out, "%zu pairs: %zu same, %zu faster, %zu slower", c->pairs, c->count[VERDICT_SAME],
            c->count[VERDICT_FASTER], c->count[VERDICT_SLOWER]);
    if (c->slower_environment)
        fprintf(out, " (%zu of them with the same code, which is no regression)", c->slower_environment);
    fprintf(out, ", %zu inconclusive, %zu broken, %zu not comparable", c->count[VERDICT_INCONCLUSIVE],
            c->count[VERDICT_BROKEN], c->count[VERDICT_NOT_COMPARABLE]);
    if (c->count[VERDICT_REFERENCE])
        fprintf(out, ", %zu vendor references", c->count[VERDICT_REFERENCE]);
    fprintf(out, "; %zu only in BASE, %zu only in NEW", json_array_size(c->only_base), json_array_size(c->only_now));
    if (c->skipped)
        fprintf(out, ", %zu skipped, failed or too short for the timer in both", c->skipped);
    fprintf(out, ". Threshold %s; intervals hold together at 95 %%, each at %.6g %%.", format_percent(c->threshold).s,
            100.0 * c->level);
    if (fclose(out)) {
        free(text);
        return NULL;
    }
    return text;
}

static bool one_mode(const struct comparison *c)
{
    for (size_t i = 1; i < c->pairs; i++)
        if (strcmp(c->pair[i].mode, c->pair[0].mode) != 0)
            return false;
    return true;
}

static void add_cells(struct grid *grid, const struct pair *p, bool mode)
{
    grid_cell(grid, verdict_name(p->verdict));
    grid_cell(grid, p->variant);
    grid_cell(grid, p->shape);
    if (mode)
        grid_cell(grid, p->mode);
    grid_cell(grid, format_time_ns(record_number(p->base, "time.median_ns")).s);
    grid_cell(grid, format_time_ns(record_number(p->now, "time.median_ns")).s);
    grid_cell(grid, isnan(p->raw.value) ? "-" : text_of("%.4f", p->raw.value).s);
    grid_cell(grid, isnan(p->clock_ratio) ? "-" : text_of("%.4f", p->clock_ratio).s);
    grid_cell(grid, p->relative && p->verdict != VERDICT_REFERENCE ? text_of("%.4f", p->ratio.value).s : "-");
    grid_cell(grid, isnan(p->ratio.low) ? "-" : text_of("%.4f to %.4f", p->ratio.low, p->ratio.high).s);
    grid_cell(grid, p->code);
    grid_cell(grid, p->note);
}

static struct grid pair_grid(const struct comparison *c, bool settled, bool open)
{
    struct grid grid = {0};
    bool mode = !one_mode(c);
    grid_column(&grid, "verdict", false);
    grid_column(&grid, "variant", false);
    grid_column(&grid, "shape", false);
    if (mode)
        grid_column(&grid, "mode", false);
    grid_column(&grid, "base", true);
    grid_column(&grid, "new", true);
    grid_column(&grid, "new / base", true);
    grid_column(&grid, "at equal clock", true);
    grid_column(&grid, "to vendor", true);
    grid_column(&grid, "interval", true);
    grid_column(&grid, "code", false);
    grid_column(&grid, "notes", false);
    for (size_t i = 0; i < c->pairs; i++) {
        bool quiet = c->pair[i].verdict == VERDICT_SAME || c->pair[i].verdict == VERDICT_REFERENCE;
        if (quiet ? settled : open)
            add_cells(&grid, &c->pair[i], mode);
    }
    return grid;
}

static void write_only(FILE *out, const char *prefix, const char *where, const json_t *names)
{
    for (size_t i = 0; i < json_array_size(names); i++)
        fprintf(out, "%sonly in %s: %s\n", prefix, where, json_string_value(json_array_get(names, i)));
}

static void write_notes(FILE *out, const char *prefix, const struct comparison *c)
{
    for (const char *line = c->notes; *line; line += strcspn(line, "\n") + 1)
        fprintf(out, "%s%.*s\n", prefix, (int)strcspn(line, "\n"), line);
    if (c->pairs && one_mode(c))
        fprintf(out, "%smode: %s\n", prefix, c->pair[0].mode);
    write_only(out, prefix, "BASE", c->only_base);
    write_only(out, prefix, "NEW", c->only_now);
}

int compare_print(const struct comparison *c, FILE *out, struct ridge_error *err)
{
    struct grid grid = pair_grid(c, true, true);
    int status = grid.cells ? grid_print(&grid, out, err) : RIDGE_OK;
    grid_free(&grid);
    write_notes(out, "", c);
    char *summary = compare_summary(c);
    fprintf(out, "%s\n", summary ? summary : "");
    free(summary);
    return status;
}

int compare_markdown(const struct comparison *c, FILE *out, struct ridge_error *err)
{
    struct ridge_error reason = {""};
    int code = compare_status(c, &reason);
    char *summary = compare_summary(c);
    fprintf(out, "## Performance comparison: %s\n\n%s\n\n", code ? reason.text : "no regression",
            summary ? summary : "");
    free(summary);
    struct grid grid = pair_grid(c, false, true);
    int status = grid.cells ? grid_print_markdown(&grid, out, err) : RIDGE_OK;
    grid_free(&grid);
    if (!status) {
        write_notes(out, "- ", c);
        fputc('\n', out);
    }
    grid = pair_grid(c, true, false);
    if (!status && grid.cells) {
        fputs("<details><summary>Pairs without a difference</summary>\n\n", out);
        status = grid_print_markdown(&grid, out, err);
        fputs("</details>\n", out);
    }
    grid_free(&grid);
    return status;
}

static void write_escaped(FILE *out, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default: /* control characters are not allowed in XML 1.0 */
            fputc((unsigned char)*text < 0x20 ? ' ' : *text, out);
        }
}

static void write_case(FILE *out, const struct pair *p)
{
    double seconds = record_number(p->now, "time.median_ns") * 1e-9;
    fputs("  <testcase classname=\"", out);
    write_escaped(out, p->family);
    fputs("\" name=\"", out);
    write_escaped(out, p->variant);
    fputc(' ', out);
    write_escaped(out, p->shape);
    fputc(' ', out);
    write_escaped(out, p->mode);
    fprintf(out, "\" time=\"%.9f\"", isnan(seconds) ? 0.0 : seconds);
    bool failed = p->verdict == VERDICT_BROKEN || (p->verdict == VERDICT_SLOWER && !p->environment);
    bool skipped = p->verdict == VERDICT_NOT_COMPARABLE || p->verdict == VERDICT_INCONCLUSIVE ||
                   (p->verdict == VERDICT_SLOWER && p->environment);
    if (!failed && !skipped) {
        fputs("/>\n", out);
        return;
    }
    fprintf(out, ">\n    <%s message=\"%s", failed ? "failure" : "skipped", verdict_name(p->verdict));
    if (!isnan(p->ratio.value))
        fprintf(out, ", new / base %.4f", p->ratio.value);
    if (!isnan(p->ratio.low))
        fprintf(out, " (%.4f to %.4f)", p->ratio.low, p->ratio.high);
    if (p->note[0])
        fputs(", ", out);
    write_escaped(out, p->note);
    fputs("\"/>\n  </testcase>\n", out);
}

void compare_junit(const struct comparison *c, FILE *out)
{
    size_t failures = c->count[VERDICT_BROKEN] + c->count[VERDICT_SLOWER] - c->slower_environment;
    size_t skipped = c->count[VERDICT_NOT_COMPARABLE] + c->count[VERDICT_INCONCLUSIVE] + c->slower_environment;
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<testsuite name=\"ridge compare\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\">\n",
            c->pairs, failures, skipped);
    for (size_t i = 0; i < c->pairs; i++)
        write_case(out, &c->pair[i]);
    fputs("</testsuite>\n", out);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The tables and notes of a report, for the console and for Markdown alike. */
#ifndef RIDGE_REPORT_TABLES_H
#define RIDGE_REPORT_TABLES_H

#include <stdio.h>

#include "reports/format.h"
#include "reports/grid.h"
#include "reports/model.h"

/* The ladder of a family; on the host in GFLOP/s. Free with grid_free. */
struct grid table_family(const struct report_family *family, bool host);

/* The fastest few plans of every variant, shape and mode of a family of KIND_PLANS, beside the variant's own choice. */
struct grid table_plans(const struct report_device *device, const struct report_family *family);

/* What `family` is called above its table: "gemm_bf16, plans". */
struct text family_title(const struct report_family *family);

/* Every measurement behind the ceilings of a device: its rate, and the rate per clock and SM. */
struct grid table_ceiling_rows(const struct report_device *device);

/* Measured ceilings beside the specified ones. */
struct grid table_ceilings(const struct report_device *device);

/* What was run: device, software, clocks, counts; two columns. */
struct grid table_facts(const struct report_device *device);

/* Best own variant a shape, all families. */
struct grid table_summary(const struct report_device *device);

/* Steady (power-limited) beside burst: variants measured in both, with clock and power. Empty without such. */
struct grid table_power(const struct report_device *device);

/* What the counters saw over the declared (issued) work, by family and quantity. Empty without counters. */
struct grid table_counted(const struct report_device *device);

/* "m x n x k": what the numbers of a shape are. */
struct text family_axes(const struct report_family *family);

/* The one mode of all rows, or NULL if there are several (the table then has a mode column). */
const char *family_mode(const struct report_family *family);

/* One line each, `prefix` before it: skips and failures with their reasons, times below the quantum, accounting
 * errors, contradicted modes, unknown ceilings, unchecked variants. */
void notes_write(FILE *out, const char *prefix, const struct report_family *family);

/* How far the rows of a device are backed: unverified modes and absent counters, one line a reason. */
void notes_write_evidence(FILE *out, const char *prefix, const struct report_device *device);

/* Everything on the console. */
int report_print(const struct report *report, FILE *out, struct ridge_error *err);

/* report.md into the existing folder `dir`, linking the roofline and bound-chart images that lie there. */
int report_markdown(const struct report *report, const char *dir, struct ridge_error *err);

/* "What to read in it": sentences about a ladder family, as Markdown list items. */
void reading_write(FILE *out, const struct report_family *family);

#endif

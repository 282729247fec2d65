/* SPDX-License-Identifier: Apache-2.0 */
/* Draws charts with gnuplot. The script holds its data, so that it can be drawn later on another machine. */
#ifndef RIDGE_PLOT_H
#define RIDGE_PLOT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "roofline/chart.h"

/* Writes the gnuplot script of a chart that has entries: it draws <stem>.svg and <stem>.png into the current folder. */
int plot_script(const struct chart *chart, FILE *out, struct ridge_error *err);

bool plot_has_gnuplot(void); /* an executable of that name is on PATH */

/* Writes folder/<stem>.gp, and draws it where gnuplot is there: *drawn tells. RIDGE_ENVIRONMENT if the folder is not
 * writable or gnuplot fails. */
int plot_draw(const struct chart *chart, const char *folder, bool *drawn, struct ridge_error *err);

#endif

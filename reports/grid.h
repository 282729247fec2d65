/* SPDX-License-Identifier: Apache-2.0 */
/* A table of strings, built once and printed to the console (libsmartcols) or as Markdown. */
#ifndef RIDGE_GRID_H
#define RIDGE_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

enum { GRID_COLUMNS = 16 };

struct grid {
    const char *title[GRID_COLUMNS]; /* borrowed */
    bool right[GRID_COLUMNS];        /* numbers are aligned right */
    size_t columns;
    char **cell; /* row by row */
    size_t cells, room;
    bool failed; /* out of memory; the printers then say so */
};

void grid_column(struct grid *grid, const char *title, bool right);
void grid_cell(struct grid *grid, const char *text); /* NULL: "" */

/* A column whose cells are all "" or "-" is left out by both printers. */
int grid_print(const struct grid *grid, FILE *out, struct ridge_error *err);
int grid_print_markdown(const struct grid *grid, FILE *out, struct ridge_error *err);
void grid_free(struct grid *grid);

#endif

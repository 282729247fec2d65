/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/grid.h"

#include <libsmartcols/libsmartcols.h>
#include <stdlib.h>
#include <string.h>

void grid_column(struct grid *grid, const char *title, bool right)
{
    grid->title[grid->columns] = title;
    grid->right[grid->columns++] = right;
}

void grid_cell(struct grid *grid, const char *text)
{
    if (grid->cells == grid->room) {
        size_t room = grid->room ? 2 * grid->room : 64;
        char **cell = realloc(grid->cell, room * sizeof *cell);
        if (!cell) {
            grid->failed = true;
            return;
        }
        grid->cell = cell;
        grid->room = room;
    }
    char *copy = strdup(text ? text : "");
    if (!copy)
        grid->failed = true;
    else
        grid->cell[grid->cells++] = copy;
}

static bool column_used(const struct grid *grid, size_t column)
{
    for (size_t i = column; i < grid->cells; i += grid->columns)
        if (grid->cell[i][0] && strcmp(grid->cell[i], "-") != 0)
            return true;
    return false;
}

int grid_print(const struct grid *grid, FILE *out, struct ridge_error *err)
{
    char *text = NULL;
    int status = RIDGE_OK;
    struct libscols_table *table = scols_new_table();
    if (!table || grid->failed) {
        status = ridge_fail(err, RIDGE_ENVIRONMENT, "out of memory for a table of %zu cells", grid->cells);
        goto out;
    }
    /* Lines are never cut: a report that is piped must be the one that is seen. */
    scols_table_set_termforce(table, SCOLS_TERMFORCE_NEVER);
    scols_table_set_column_separator(table, "  ");
    for (size_t c = 0; c < grid->columns; c++)
        if (column_used(grid, c))
            scols_table_new_column(table, grid->title[c], 0, grid->right[c] ? SCOLS_FL_RIGHT : 0);
    for (size_t row = 0; row + grid->columns <= grid->cells; row += grid->columns) {
        struct libscols_line *line = scols_table_new_line(table, NULL);
        size_t shown = 0;
        for (size_t c = 0; line && c < grid->columns; c++)
            if (column_used(grid, c))
                scols_line_set_data(line, shown++, grid->cell[row + c]);
    }
    if (scols_print_table_to_string(table, &text) != 0)
        status = ridge_fail(err, RIDGE_ENVIRONMENT, "libsmartcols could not print a table of %zu cells", grid->cells);
    else
        fprintf(out, "%s\n", text ? text : "");
out:
    free(text);
    scols_unref_table(table);
    return status;
}

static void print_cell(FILE *out, const char *text)
{
    fputc(' ', out);
    for (; *text; text++) {
        if (*text == '|' || *text == '<' || *text == '*')
            fputc('\\', out);
        fputc(*text == '\n' ? ' ' : *text, out);
    }
    fputs(" |", out);
}

int grid_print_markdown(const struct grid *grid, FILE *out, struct ridge_error *err)
{
    if (grid->failed)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "out of memory for a table of %zu cells", grid->cells);
    fputc('|', out);
    for (size_t c = 0; c < grid->columns; c++)
        if (column_used(grid, c))
            print_cell(out, grid->title[c]);
    fputs("\n|", out);
    for (size_t c = 0; c < grid->columns; c++)
        if (column_used(grid, c))
            fputs(grid->right[c] ? "--:|" : "---|", out);
    for (size_t row = 0; row + grid->columns <= grid->cells; row += grid->columns) {
        fputs("\n|", out);
        for (size_t c = 0; c < grid->columns; c++)
            if (column_used(grid, c))
                print_cell(out, grid->cell[row + c]);
    }
    fputs("\n\n", out);
    return RIDGE_OK;
}

void grid_free(struct grid *grid)
{
    for (size_t i = 0; i < grid->cells; i++)
        free(grid->cell[i]);
    free(grid->cell);
    *grid = (struct grid){0};
}

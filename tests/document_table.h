/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of documents that a test computes: `<!-- table: tests/NAME.c -->` begins one and `<!-- end of table -->` ends
 * it. The test fails when the code gives another table; with --update, run in the source folder, it writes a new one.
 */
#ifndef RIDGE_DOCUMENT_TABLE_H
#define RIDGE_DOCUMENT_TABLE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DOCUMENT_TEXT = 32768 };

struct document_table {
    const char *path;          /* below the source folder */
    const char *begin;         /* the line that begins it, with its end */
    void (*write)(char *text); /* the table as it is today; DOCUMENT_TEXT bytes */
    char text[DOCUMENT_TEXT],
        today[DOCUMENT_TEXT]; /* the document, cut after the table by document_find, and write's */
    char *after;              /* what follows the table */
};

static inline FILE *document_open(const struct document_table *table, const char *mode)
{
    char path[4096];
    const char *source = getenv("RIDGE_SOURCE");
    snprintf(path, sizeof path, "%s/%s", source ? source : ".", table->path);
    FILE *file = fopen(path, mode);
    if (!file)
        perror(path);
    return file;
}

/* The first byte of the table in table->text, or NULL; fills `today`. */
static inline char *document_find(struct document_table *table)
{
    FILE *file = document_open(table, "r");
    if (!file)
        return NULL;
    table->text[fread(table->text, 1, DOCUMENT_TEXT - 1, file)] = 0;
    fclose(file);
    table->write(table->today);
    char *first = strstr(table->text, table->begin);
    table->after = first ? strstr(first, "<!-- end of table -->\n") : NULL;
    return table->after ? first + strlen(table->begin) : NULL;
}

/* 0 if the document holds the table of today. */
static inline int document_compare(struct document_table *table)
{
    const char *first = document_find(table);
    if (!first)
        return -1;
    *table->after = 0;
    return strcmp(first, table->today);
}

/* The exit code of --update. */
static inline int document_update(struct document_table *table)
{
    char *first = document_find(table);
    FILE *file = first ? document_open(table, "w") : NULL;
    if (!file) {
        fprintf(stderr, "%s: no table\n", table->path);
        return 1;
    }
    fprintf(file, "%.*s%s%s", (int)(first - table->text), table->text, table->today, table->after);
    return fclose(file) ? 1 : 0;
}

#endif

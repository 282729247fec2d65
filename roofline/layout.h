/* SPDX-License-Identifier: Apache-2.0 */
/* Where texts go on a canvas so that they do not cover points or each other. Pixels, y grows upwards. */
#ifndef RIDGE_LAYOUT_H
#define RIDGE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

struct box {
    double x0, y0, x1, y1;
};

enum { LAYOUT_BOXES = 2048, LAYOUT_LINES = 512 };
struct layout {
    struct box area; /* nothing is placed outside */
    struct box box[LAYOUT_BOXES];
    struct box line[LAYOUT_LINES]; /* from (x0, y0) to (x1, y1) */
    size_t boxes, lines;           /* taken; further ones are forgotten */
};

void layout_take(struct layout *layout, struct box box);
void layout_take_line(struct layout *layout, struct box line); /* layout_near keeps off it */

/* Area that `box` shares with what is taken, plus what lies outside the area; 0: free. */
double layout_cost(const struct layout *layout, struct box box);

/* A text of width x height, turned by `angle` (radians), centred at (x, y): cost, and taking it. */
double layout_text_cost(const struct layout *layout, double x, double y, double width, double height, double angle);
void layout_take_text(struct layout *layout, double x, double y, double width, double height, double angle);

/* The centre for a text near (x, y): the nearest of rings of candidates that is free, else the least covered. Takes
 * it. *far: a leader line is needed. */
void layout_near(struct layout *layout, double x, double y, double width, double height, double *text_x, double *text_y,
                 bool *far);

/* The centre of a text along a line, `offset[0]` to its left side (negative: right side), as near to the start as is
 * free; where nothing is, offset[1] is tried. Takes it. */
void layout_along(struct layout *layout, struct box line, const double offset[2], double width, double height,
                  double *text_x, double *text_y);

double layout_crossing(struct box box, struct box line); /* length of the line inside the box */

#endif

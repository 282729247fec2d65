/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that write a plot's script. Pixels, origin at the lower left. */
#ifndef RIDGE_PLOT_CANVAS_H
#define RIDGE_PLOT_CANVAS_H

#include <stdio.h>

#include "roofline/chart.h"
#include "roofline/layout.h"

struct canvas {
    FILE *out;
    double width, height;
    double x0, x1, y0, y1; /* log10 of the axes' ends */
    struct layout layout;  /* its area is the plot's */
};

static const double char_px = 6.6, text_px = 15; /* of 13 px texts, a little generous */

double pixel_x(const struct canvas *canvas, double flop_per_byte);
double pixel_y(const struct canvas *canvas, double flop_per_s);
void put_quoted(FILE *out, const char *text);
/* font: "Bold,13", "Italic,13" or ",13" */
void put_label(struct canvas *canvas, const char *text, double x, double y, const char *align, double degrees,
               const char *font, const char *colour);
void put_line(struct canvas *canvas, double x0, double y0, double x1, double y1, const char *style);

void draw_frame(struct canvas *canvas, const struct chart *chart); /* sets the ranges too */
void draw_roofs(struct canvas *canvas, const struct chart *chart);
void take_marks(struct canvas *canvas, const struct chart *chart); /* before any text is placed */
void draw_numbers(struct canvas *canvas, const struct chart *chart);
void draw_key(struct canvas *canvas, const struct chart *chart);
void draw_legend(struct canvas *canvas, const struct chart *chart);
void draw_data(struct canvas *canvas, const struct chart *chart);  /* data blocks of the marks */
void plot_marks(struct canvas *canvas, const struct chart *chart); /* and the plot command over them */
double key_height(const struct chart *chart);

#endif

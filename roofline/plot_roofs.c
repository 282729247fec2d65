/* SPDX-License-Identifier: Apache-2.0 */
/* Axes, roofs and their names. */
#include <math.h>
#include <string.h>

#include "roofline/plot_canvas.h"

/* The highest memory roof of the same kind of evidence; compute roofs start where they meet it. */
static double memory_rate(const struct chart *chart, bool measured)
{
    double best = 0, any = 0;
    for (int i = 0; i < chart->roofs; i++) {
        if (!chart->roof[i].slanted)
            continue;
        any = fmax(any, chart->roof[i].rate);
        if (chart->roof[i].measured == measured)
            best = fmax(best, chart->roof[i].rate);
    }
    return best > 0 ? best : any;
}

static double compute_rate(const struct chart *chart, bool measured)
{
    double best = 0, any = 0;
    for (int i = 0; i < chart->roofs; i++) {
        if (chart->roof[i].slanted)
            continue;
        any = fmax(any, chart->roof[i].rate);
        if (chart->roof[i].measured == measured)
            best = fmax(best, chart->roof[i].rate);
    }
    return best > 0 ? best : any;
}

static void extend(double range[2], double value)
{
    if (value > 0 && isfinite(value)) {
        range[0] = fmin(range[0], log10(value));
        range[1] = fmax(range[1], log10(value));
    }
}

static void at_least(double *low, double *high, double decades)
{
    double missing = decades - (*high - *low);
    if (missing > 0) {
        *low -= missing * 0.6;
        *high += missing * 0.4;
    }
}

static void set_ranges(struct canvas *c, const struct chart *chart)
{
    const double room = 1.7; /* decades, for the name of the highest roof */
    double x[2] = {INFINITY, -INFINITY}, y[2] = {INFINITY, -INFINITY}, ridge = -INFINITY;
    for (size_t i = 0; i < chart->entries; i++) {
        const struct chart_entry *e = &chart->entry[i];
        extend(x, e->main.x);
        extend(y, e->main.y);
        extend(x, e->second.x);
        extend(y, e->second.y);
        extend(y, e->low);
        extend(y, e->high);
    }
    for (int i = 0; i < chart->roofs; i++) {
        if (chart->roof[i].slanted)
            continue;
        extend(y, chart->roof[i].rate);
        double memory = memory_rate(chart, chart->roof[i].measured);
        if (memory > 0) {
            extend(x, chart->roof[i].rate / memory);
            ridge = fmax(ridge, log10(chart->roof[i].rate / memory));
        }
    }
    c->x0 = x[0] - 0.45;
    c->x1 = fmax(x[1] + 0.45, ridge + room);
    c->y0 = y[0] - 0.45;
    c->y1 = y[1] + 0.30;
    at_least(&c->x0, &c->x1, 3);
    at_least(&c->y0, &c->y1, 3);
}

static void tics(struct canvas *c, char axis, double low, double high)
{
    const char *separator = "";
    fprintf(c->out, "set %ctics (", axis);
    for (int decade = (int)floor(low); decade <= (int)ceil(high); decade++) {
        for (int step = 1; step <= 9; step++) {
            double value = step * pow(10, decade);
            if (log10(value) < low || log10(value) > high)
                continue;
            char text[32] = "";
            if (step == 1 && axis == 'y')
                rate_text(value, "FLOP/s", text, sizeof text);
            else if (step == 1)
                snprintf(text, sizeof text, "%g", value);
            char *zeros = axis == 'y' ? strstr(text, ".00") : NULL;
            if (zeros)
                memmove(zeros, zeros + 3, strlen(zeros + 3) + 1);
            zeros = axis == 'y' && !zeros ? strstr(text, ".0 ") : NULL;
            if (zeros)
                memmove(zeros, zeros + 2, strlen(zeros + 2) + 1);
            fprintf(c->out, "%s'%s' %g %d", separator, text, value, step > 1);
            separator = ", ";
        }
    }
    fprintf(c->out, ")\n");
}

void draw_frame(struct canvas *c, const struct chart *chart)
{
    set_ranges(c, chart);
    struct box a = c->layout.area;
    fprintf(c->out,
            "reset\nset lmargin at screen %.5f\nset rmargin at screen %.5f\nset bmargin at screen %.5f\nset tmargin at "
            "screen "
            "%.5f\n",
            a.x0 / c->width, a.x1 / c->width, a.y0 / c->height, a.y1 / c->height);
    fprintf(c->out, "set logscale xy\nset xrange [%.6g:%.6g]\nset yrange [%.6g:%.6g]\nunset key\n", pow(10, c->x0),
            pow(10, c->x1), pow(10, c->y0), pow(10, c->y1));
    fprintf(c->out, "set border 3 lw 1 lc rgb '#555555'\nset grid xtics ytics lt 1 lw 0.6 lc rgb '#e4e4e4'\n"
                    "set tics nomirror out scale 1,0.5 textcolor rgb '#333333'\n");
    tics(c, 'x', c->x0, c->x1);
    tics(c, 'y', c->y0, c->y1);
    fprintf(c->out, "set xlabel ");
    put_quoted(c->out, chart->x_label);
    fprintf(c->out, " noenhanced font ',14' offset 0,-0.3\n");
    put_label(c, chart->title, a.x0 - 70, c->height - 26, "left", 0, "Bold,19", "#000000");
    put_label(c, chart->subtitle, a.x0 - 70, c->height - 50, "left", 0, ",13", "#555555");
}

/* Texts of lines that run close together go above the highest and below the lowest of them. */
static void label_roof(struct canvas *c, const struct chart *chart, const struct chart_roof *roof, struct box line)
{
    const double gap = 11, close = 34;
    bool lowest = false;
    if (!roof->label[0])
        return;
    double angle = atan2(line.y1 - line.y0, line.x1 - line.x0), up = 0, down = 0;
    double perpendicular = roof->slanted ? fabs(cos(angle)) : 1;
    for (int i = 0; i < chart->roofs; i++) {
        const struct chart_roof *other = &chart->roof[i];
        double distance = (pixel_y(c, other->rate) - pixel_y(c, roof->rate)) * perpendicular;
        if (other == roof || other->slanted != roof->slanted || fabs(distance) > close)
            continue;
        up = fmax(up, distance);
        down = fmin(down, distance);
        lowest = lowest || (distance > 0 && other->label[0]);
    }
    const double above = up + gap, below = down - gap;
    lowest = lowest && down == 0;
    double x, y, width = char_px * (double)strlen(roof->label);
    if (roof->slanted) {
        const double offset[2] = {lowest ? below : above, lowest ? above : below};
        layout_along(&c->layout, line, offset, width, text_px, &x, &y);
    } else {
        /* Walked from the right end, so that its left side is below. */
        const struct box back = {line.x1, line.y1, line.x0, line.y0};
        const double offset[2] = {lowest ? -below : -above, lowest ? -above : -below};
        layout_along(&c->layout, back, offset, width, text_px, &x, &y);
    }
    put_label(c, roof->label, x, y, "center", angle * 180 / acos(-1), ",13", roof->measured ? "#000000" : "#666666");
}

static struct box roof_line(const struct canvas *c, const struct chart *chart, const struct chart_roof *roof)
{
    double x0 = pow(10, c->x0), x1 = pow(10, c->x1), y0 = pow(10, c->y0);
    if (roof->slanted) {
        x0 = fmax(x0, y0 / roof->rate);
        double top = compute_rate(chart, roof->measured);
        if (top > 0)
            x1 = fmin(x1, top / roof->rate);
        return (struct box){pixel_x(c, x0), pixel_y(c, roof->rate * x0), pixel_x(c, x1), pixel_y(c, roof->rate * x1)};
    }
    double memory = memory_rate(chart, roof->measured);
    if (memory > 0)
        x0 = fmax(x0, roof->rate / memory);
    return (struct box){pixel_x(c, x0), pixel_y(c, roof->rate), pixel_x(c, x1), pixel_y(c, roof->rate)};
}

/* A dotted line from where the roofs meet down to the axis, with the balance in FLOP/byte. */
static void draw_ridge(struct canvas *c, const struct chart *chart, const struct chart_roof *roof, struct box line)
{
    double memory = memory_rate(chart, roof->measured);
    if (roof->slanted || !(memory > 0))
        return;
    for (int i = 0; i < chart->roofs && !roof->measured; i++)
        if (!chart->roof[i].slanted && chart->roof[i].measured && fabs(log10(chart->roof[i].rate / roof->rate)) < 0.2)
            return; /* the measured ridge beside it says it */
    char text[48];
    double balance = roof->rate / memory;
    snprintf(text, sizeof text, balance < 10 ? "ridge %.1f FLOP/B" : "ridge %.0f FLOP/B", balance);
    put_line(c, line.x0, line.y0, line.x0, c->layout.area.y0, "lw 1 dt (1,4) lc rgb '#888888' back");
    double x, y, width = char_px * (double)strlen(text);
    const struct box upwards = {line.x0, c->layout.area.y0, line.x0, line.y0};
    const double offset[2] = {-9, 9};
    layout_along(&c->layout, upwards, offset, width, text_px, &x, &y);
    put_label(c, text, x, y, "center", 90, ",12", "#666666");
}

void draw_roofs(struct canvas *c, const struct chart *chart)
{
    for (int i = 0; i < chart->roofs; i++) {
        const struct chart_roof *roof = &chart->roof[i];
        struct box line = roof_line(c, chart, roof);
        put_line(c, line.x0, line.y0, line.x1, line.y1,
                 roof->measured ? "lw 2.2 lc rgb '#222222' front" : "lw 1.6 dt (9,6) lc rgb '#888888' front");
        layout_take_line(&c->layout, line);
        label_roof(c, chart, roof, line);
        draw_ridge(c, chart, roof, line);
    }
}

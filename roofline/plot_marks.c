/* SPDX-License-Identifier: Apache-2.0 */
/* Marks with their numbers, the key that the numbers refer to, and the legend of marks. */
#include <math.h>
#include <string.h>

#include "roofline/plot_canvas.h"

/* Colours that stay apart for colour-blind readers (Okabe and Ito, 2008), the yellow left out. */
static const char *const palette[] = {"#0072b2", "#d55e00", "#009e73", "#b5579a",
                                      "#a87800", "#3a9fd6", "#6a3d9a", "#555555"};
enum { COLOURS = sizeof palette / sizeof *palette };

static const struct {
    int point; /* of gnuplot */
    double size, line;
} style[MARK_COUNT] = {
    [MARK_MODEL] = {6, 1.25, 2},          [MARK_COUNTED] = {7, 1.35, 1}, [MARK_ISSUED_MODEL] = {12, 1.2, 1.4},
    [MARK_ISSUED_COUNTED] = {13, 1.2, 1}, [MARK_PLACED] = {8, 1.3, 1.6}, [MARK_PROJECTED] = {5, 0.95, 1.4},
    [MARK_EMULATED] = {15, 1.3, 1},       [MARK_ERROR] = {6, 2.6, 2},
};

enum { ROW_PX = 18 };

static const char *colour(const struct chart_entry *entry)
{
    return palette[entry->family_index % COLOURS];
}

static void take_mark(struct canvas *c, const struct chart_mark *mark, double reach)
{
    if (mark->mark == MARK_NONE)
        return;
    double x = pixel_x(c, mark->x), y = pixel_y(c, mark->y);
    layout_take(&c->layout, (struct box){x - reach, y - reach, x + reach, y + reach});
}

void take_marks(struct canvas *c, const struct chart *chart)
{
    const double reach = 7, ring = 12;
    for (size_t i = 0; i < chart->entries; i++) {
        const struct chart_entry *e = &chart->entry[i];
        take_mark(c, &e->main, e->above_roof ? ring : reach);
        take_mark(c, &e->second, reach);
        if (e->second.mark != MARK_NONE)
            layout_take_line(&c->layout, (struct box){pixel_x(c, e->main.x), pixel_y(c, e->main.y),
                                                      pixel_x(c, e->second.x), pixel_y(c, e->second.y)});
        if (e->high > e->low) {
            double x = pixel_x(c, e->main.x);
            layout_take(&c->layout, (struct box){x - 2, pixel_y(c, e->low), x + 2, pixel_y(c, e->high)});
        }
    }
}

void draw_numbers(struct canvas *c, const struct chart *chart)
{
    for (size_t i = 0; i < chart->entries; i++) {
        const struct chart_entry *e = &chart->entry[i];
        char number[24];
        snprintf(number, sizeof number, "%zu", i + 1);
        double x = pixel_x(c, e->main.x), y = pixel_y(c, e->main.y), text_x = x, text_y = y;
        bool far = false;
        layout_near(&c->layout, x, y, 8.0 * (double)strlen(number), 13, &text_x, &text_y, &far);
        if (far) {
            double length = hypot(text_x - x, text_y - y), from = 6 / length, to = 1 - 9 / length;
            struct box leader = {x + (text_x - x) * from, y + (text_y - y) * from, x + (text_x - x) * to,
                                 y + (text_y - y) * to};
            put_line(c, leader.x0, leader.y0, leader.x1, leader.y1, "lw 0.8 lc rgb '#999999' back");
            layout_take_line(&c->layout, leader);
        }
        put_label(c, number, text_x, text_y, "center", 0, "Bold,13", colour(e));
    }
}

double key_height(const struct chart *chart)
{
    size_t families = 0;
    for (size_t i = 0; i < chart->entries; i++)
        families += i == 0 || strcmp(chart->entry[i].family, chart->entry[i - 1].family) != 0;
    return ROW_PX * ((double)chart->entries + 1.5 * (double)families + 1);
}

void draw_key(struct canvas *c, const struct chart *chart)
{
    enum { NAME_CHARS = 44 };
    double left = c->layout.area.x1 + 36, y = c->layout.area.y1 - 4;
    double name_x = left + 26, value_x = left + 412, note_x = value_x + 12;
    put_label(c, chart->value_title, value_x, y, "right", 0, "Italic,13", "#555555");
    put_label(c, chart->note_title, note_x, y, "left", 0, "Italic,13", "#555555");
    for (size_t i = 0; i < chart->entries; i++) {
        const struct chart_entry *e = &chart->entry[i];
        if (i == 0 || strcmp(e->family, chart->entry[i - 1].family) != 0) {
            y -= i == 0 ? 0 : ROW_PX * 0.5;
            put_label(c, e->family, left, y, "left", 0, "Bold,14", colour(e));
            y -= ROW_PX;
        }
        if (y < c->layout.area.y0) { /* a picture may not be as high as thousands of lines */
            char more[64];
            snprintf(more, sizeof more, "... and %zu more", chart->entries - i);
            put_label(c, more, left, y, "left", 0, ",13", "#222222");
            break;
        }
        char number[24], name[NAME_CHARS + 4];
        snprintf(number, sizeof number, "%zu", i + 1);
        if (strlen(e->name) > NAME_CHARS)
            snprintf(name, sizeof name, "%.*s...", NAME_CHARS - 3, e->name);
        else
            snprintf(name, sizeof name, "%.*s", NAME_CHARS, e->name);
        put_label(c, number, left + 18, y, "right", 0, "Bold,13", colour(e));
        put_label(c, name, name_x, y, "left", 0, ",13", "#222222");
        put_label(c, e->value, value_x, y, "right", 0, ",13", "#222222");
        put_label(c, e->note, note_x, y, "left", 0, ",13", e->above_roof ? "#cc0000" : "#222222");
        y -= ROW_PX;
    }
}

static bool has_mark(const struct chart *chart, enum mark mark)
{
    for (size_t i = 0; i < chart->entries; i++)
        if (chart->entry[i].main.mark == mark || chart->entry[i].second.mark == mark ||
            (mark == MARK_ERROR && chart->entry[i].above_roof))
            return true;
    return false;
}

void draw_legend(struct canvas *c, const struct chart *chart)
{
    double x = c->layout.area.x0 - 70, y = c->height - 76;
    for (int evidence = 1; evidence >= 0; evidence--) {
        const char *text = evidence ? "measured roof" : "specified roof";
        bool any = false;
        for (int i = 0; i < chart->roofs; i++)
            any = any || chart->roof[i].measured == (evidence == 1);
        if (!any)
            continue;
        put_line(c, x, y, x + 34, y,
                 evidence ? "lw 2.2 lc rgb '#222222' front" : "lw 1.6 dt (9,6) lc rgb '#888888' front");
        put_label(c, text, x + 42, y, "left", 0, ",13", "#333333");
        x += 42 + char_px * (double)strlen(text) + 18;
    }
    for (int mark = MARK_MODEL; mark < MARK_COUNT; mark++) {
        if (!has_mark(chart, (enum mark)mark))
            continue;
        fprintf(c->out, "set label '' at screen %.5f,%.5f point pt %d ps %g lw %g lc rgb '%s' front\n",
                (x + 8) / c->width, y / c->height, style[mark].point, fmin(style[mark].size, 1.8), style[mark].line,
                mark == MARK_ERROR ? "#cc0000" : "#333333");
        const char *text = mark_meaning((enum mark)mark);
        put_label(c, text, x + 22, y, "left", 0, ",13", "#333333");
        x += 22 + char_px * (double)strlen(text) + 18;
    }
}

static bool is_error(const struct chart_entry *entry, enum mark mark)
{
    return mark == MARK_ERROR && entry->above_roof;
}

/* Rows of one family and mark: x, y, low, high. Returns how many there are. */
static int rows_of(FILE *out, const struct chart *chart, int family, enum mark mark)
{
    int rows = 0;
    for (size_t i = 0; i < chart->entries; i++) {
        const struct chart_entry *e = &chart->entry[i];
        const struct chart_mark *m = e->main.mark == mark || is_error(e, mark) ? &e->main
                                     : e->second.mark == mark                  ? &e->second
                                                                               : NULL;
        if (e->family_index != family || !m)
            continue;
        rows++;
        bool interval = m == &e->main && e->high > 0;
        if (!out)
            continue;
        fprintf(out, "%.6g %.6g %.6g %.6g # %zu ", m->x, m->y, interval ? e->low : m->y, interval ? e->high : m->y,
                i + 1);
        put_quoted(out, e->name);
        fputc('\n', out);
    }
    return rows;
}

static int last_family(const struct chart *chart)
{
    int last = -1;
    for (size_t i = 0; i < chart->entries; i++)
        last = chart->entry[i].family_index > last ? chart->entry[i].family_index : last;
    return last;
}

void draw_data(struct canvas *c, const struct chart *chart)
{
    for (size_t i = 0; i < chart->entries; i++) {
        const struct chart_entry *e = &chart->entry[i];
        if (e->second.mark != MARK_NONE)
            put_line(c, pixel_x(c, e->main.x), pixel_y(c, e->main.y), pixel_x(c, e->second.x), pixel_y(c, e->second.y),
                     "lw 0.9 lc rgb '#777777' back");
    }
    for (int family = 0; family <= last_family(chart); family++) {
        for (int mark = MARK_MODEL; mark < MARK_COUNT; mark++) {
            if (rows_of(NULL, chart, family, (enum mark)mark) == 0)
                continue;
            fprintf(c->out, "$d%d_%d << EOD\n", family, mark);
            rows_of(c->out, chart, family, (enum mark)mark);
            fprintf(c->out, "EOD\n");
        }
    }
}

void plot_marks(struct canvas *c, const struct chart *chart)
{
    const char *separator = "plot ";
    for (int mark = MARK_COUNT - 1; mark > MARK_NONE; mark--) {
        for (int family = 0; family <= last_family(chart); family++) {
            if (rows_of(NULL, chart, family, (enum mark)mark) == 0)
                continue;
            const char *rgb = mark == MARK_ERROR ? "#cc0000" : palette[family % COLOURS];
            if (mark == MARK_PROJECTED) {
                fprintf(c->out, "%s$d%d_%d using 1:2:3:4 with yerrorbars pt 0 lw 1.4 lc rgb '%s'", separator, family,
                        mark, rgb);
                separator = ", \\\n  ";
            }
            fprintf(c->out, "%s$d%d_%d using 1:2 with points pt %d ps %g lw %g lc rgb '%s'", separator, family, mark,
                    style[mark].point, style[mark].size, style[mark].line, rgb);
            separator = ", \\\n  ";
        }
    }
    fprintf(c->out, "\n");
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "roofline/layout.h"

#include <math.h>

void layout_take(struct layout *layout, struct box box)
{
    if (layout->boxes < LAYOUT_BOXES)
        layout->box[layout->boxes++] = box;
}

void layout_take_line(struct layout *layout, struct box line)
{
    if (layout->lines < LAYOUT_LINES)
        layout->line[layout->lines++] = line;
}

/* Most pairs of a crowded picture are apart: that is seen before anything is divided. */
static bool apart(double a, double b, double low, double high)
{
    return (a < low && b < low) || (a > high && b > high);
}

/* Liang and Barsky's clipping: the part [from, to] of the line that is inside all four sides. */
double layout_crossing(struct box box, struct box line)
{
    if (apart(line.x0, line.x1, box.x0, box.x1) || apart(line.y0, line.y1, box.y0, box.y1))
        return 0;
    double dx = line.x1 - line.x0, dy = line.y1 - line.y0, from = 0, to = 1;
    const double p[4] = {-dx, dx, -dy, dy};
    const double q[4] = {line.x0 - box.x0, box.x1 - line.x0, line.y0 - box.y0, box.y1 - line.y0};
    for (int i = 0; i < 4; i++) {
        if (p[i] == 0 && q[i] < 0)
            return 0;
        if (p[i] < 0)
            from = fmax(from, q[i] / p[i]);
        if (p[i] > 0)
            to = fmin(to, q[i] / p[i]);
    }
    return to > from ? (to - from) * hypot(dx, dy) : 0;
}

static double shared(struct box a, struct box b)
{
    if (a.x1 <= b.x0 || b.x1 <= a.x0 || a.y1 <= b.y0 || b.y1 <= a.y0)
        return 0;
    double width = fmin(a.x1, b.x1) - fmax(a.x0, b.x0), height = fmin(a.y1, b.y1) - fmax(a.y0, b.y0);
    return width > 0 && height > 0 ? width * height : 0;
}

double layout_cost(const struct layout *layout, struct box box)
{
    double cost = (box.x1 - box.x0) * (box.y1 - box.y0) - shared(box, layout->area);
    for (size_t i = 0; i < layout->boxes; i++)
        cost += shared(box, layout->box[i]);
    return cost;
}

/* A turned text is a string of beads. */
static int beads(double width, double height)
{
    return (int)fmax(1, ceil(width / height));
}

static struct box bead(int i, int count, double x, double y, double width, double height, double angle)
{
    double along = ((i + 0.5) / count - 0.5) * width, step = width / count;
    double half_x = fabs(cos(angle)) * step / 2 + fabs(sin(angle)) * height / 2;
    double half_y = fabs(sin(angle)) * step / 2 + fabs(cos(angle)) * height / 2;
    double cx = x + along * cos(angle), cy = y + along * sin(angle);
    return (struct box){cx - half_x, cy - half_y, cx + half_x, cy + half_y};
}

double layout_text_cost(const struct layout *layout, double x, double y, double width, double height, double angle)
{
    double cost = 0;
    for (int i = 0, count = beads(width, height); i < count; i++)
        cost += layout_cost(layout, bead(i, count, x, y, width, height, angle));
    return cost;
}

void layout_take_text(struct layout *layout, double x, double y, double width, double height, double angle)
{
    for (int i = 0, count = beads(width, height); i < count; i++)
        layout_take(layout, bead(i, count, x, y, width, height, angle));
}

/* What a text there would cover, and what the leader line from (x, y) to it would cross. */
static double near_cost(const struct layout *layout, double x, double y, struct box box, bool leader)
{
    const double line_px = 2, clear = 10; /* the leader begins outside the mark */
    double cost = layout_cost(layout, box), dx = (box.x0 + box.x1) / 2 - x, dy = (box.y0 + box.y1) / 2 - y;
    for (size_t i = 0; i < layout->lines; i++)
        cost += line_px * layout_crossing(box, layout->line[i]);
    if (!leader)
        return cost;
    double from = clear / hypot(dx, dy);
    struct box line = {x + from * dx, y + from * dy, x + dx, y + dy};
    for (size_t i = 0; i < layout->boxes; i++)
        cost += line_px * layout_crossing(layout->box[i], line);
    return cost;
}

void layout_near(struct layout *layout, double x, double y, double width, double height, double *text_x, double *text_y,
                 bool *far)
{
    static const double radius[] = {14, 22, 29, 37, 47, 60, 75, 92};
    const double free_cost = 1e-9, circle = 2 * acos(-1);
    double best = INFINITY;
    for (size_t r = 0; r < sizeof radius / sizeof *radius && best > free_cost; r++) {
        int directions = r < 1 ? 8 : 16;
        for (int d = 0; d < directions && best > free_cost; d++) {
            double angle = circle * d / directions;
            double cx = x + (radius[r] + width / 2 - height / 2) * cos(angle), cy = y + radius[r] * sin(angle);
            struct box box = {cx - width / 2, cy - height / 2, cx + width / 2, cy + height / 2};
            double cost = near_cost(layout, x, y, box, r >= 1);
            if (cost < best) {
                best = cost;
                *text_x = cx;
                *text_y = cy;
                *far = r >= 1;
            }
        }
    }
    layout_take_text(layout, *text_x, *text_y, width, height, 0);
}

void layout_along(struct layout *layout, struct box line, const double offset[2], double width, double height,
                  double *text_x, double *text_y)
{
    const double free_cost = 1e-9, step = 6;
    double length = hypot(line.x1 - line.x0, line.y1 - line.y0), best = INFINITY;
    double angle = atan2(line.y1 - line.y0, line.x1 - line.x0), ux = cos(angle), uy = sin(angle);
    /* Texts read left to right whichever way the line is walked. */
    double upright = ux < 0 ? angle + acos(-1) : angle;
    for (int side = 0; side < 2; side++) {
        for (double s = width / 2 + step; best > free_cost && (s <= length - width / 2 || best == INFINITY);
             s += step) {
            double x = line.x0 + s * ux - offset[side] * uy, y = line.y0 + s * uy + offset[side] * ux;
            double cost = layout_text_cost(layout, x, y, width, height, upright);
            if (cost < best) {
                best = cost;
                *text_x = x;
                *text_y = y;
            }
        }
    }
    layout_take_text(layout, *text_x, *text_y, width, height, upright);
}

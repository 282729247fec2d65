/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* memmem */
#include "roofline/plot.h"

#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/whole_file.h"
#include "roofline/plot_canvas.h"

extern char **environ;

enum { KEY_PX = 625, MARGIN_LEFT = 100, MARGIN_TOP = 106, MARGIN_BOTTOM = 70, PLOT_WIDTH = 900, LEAST_HEIGHT = 860 };
enum { MOST_HEIGHT = 16000 }; /* cairo draws nothing above 32767 */

double pixel_x(const struct canvas *c, double x)
{
    return c->layout.area.x0 + (log10(x) - c->x0) / (c->x1 - c->x0) * (c->layout.area.x1 - c->layout.area.x0);
}

double pixel_y(const struct canvas *c, double y)
{
    return c->layout.area.y0 + (log10(y) - c->y0) / (c->y1 - c->y0) * (c->layout.area.y1 - c->layout.area.y0);
}

void put_quoted(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text; text++) {
        if (*text == '\'')
            fputc('\'', out);
        fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
    }
    fputc('\'', out);
}

/* gnuplot's svg terminal knows bold and italic only as marks in enhanced text, where some characters need a backslash.
 */
static void put_styled(FILE *out, const char *text, const char *style)
{
    fprintf(out, "'{/:%s ", style);
    for (; *text; text++) {
        if (strchr("\\{}^_@&~", *text))
            fputc('\\', out);
        if (*text == '\'')
            fputc('\'', out);
        fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
    }
    fprintf(out, "}'");
}

void put_label(struct canvas *c, const char *text, double x, double y, const char *align, double degrees,
               const char *font, const char *colour)
{
    size_t style = strcspn(font, ",");
    fprintf(c->out, "set label ");
    if (style > 0) {
        char name[16];
        snprintf(name, sizeof name, "%.*s", (int)style, font);
        put_styled(c->out, text, name);
    } else {
        put_quoted(c->out, text);
    }
    fprintf(c->out, " at screen %.5f,%.5f %s", x / c->width, y / c->height, align);
    if (degrees != 0)
        fprintf(c->out, " rotate by %.2f", degrees);
    fprintf(c->out, " front %s font '%s' tc rgb '%s'\n", style > 0 ? "enhanced" : "noenhanced", font + style, colour);
}

void put_line(struct canvas *c, double x0, double y0, double x1, double y1, const char *style)
{
    fprintf(c->out, "set arrow from screen %.5f,%.5f to screen %.5f,%.5f nohead %s\n", x0 / c->width, y0 / c->height,
            x1 / c->width, y1 / c->height, style);
}

int plot_script(const struct chart *chart, FILE *out, struct ridge_error *err)
{
    struct canvas *c = calloc(1, sizeof *c);
    if (!c)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "out of memory for a plot");
    c->out = out;
    c->width = MARGIN_LEFT + PLOT_WIDTH + KEY_PX;
    c->height = fmin(fmax(LEAST_HEIGHT, key_height(chart) + MARGIN_TOP + MARGIN_BOTTOM), MOST_HEIGHT);
    c->layout.area = (struct box){MARGIN_LEFT, MARGIN_BOTTOM, MARGIN_LEFT + PLOT_WIDTH, c->height - MARGIN_TOP};

    fprintf(out, "# Draws %s.svg and %s.png. Data are in the file: gnuplot %s.gp\n", chart->stem, chart->stem,
            chart->stem);
    draw_frame(c, chart);
    take_marks(c, chart);
    draw_roofs(c, chart);
    draw_numbers(c, chart);
    draw_key(c, chart);
    draw_legend(c, chart);
    draw_data(c, chart);
    fprintf(out, "set terminal svg size %.0f,%.0f dynamic background 'white' font 'Arial,13'\nset output '%s.svg'\n",
            c->width, c->height, chart->stem);
    plot_marks(c, chart);
    fprintf(out,
            "if (strstrt(GPVAL_TERMINALS, 'pngcairo') > 0) {\n"
            "  set terminal pngcairo size %.0f,%.0f background 'white' font 'Arial,13' fontscale 0.75\n} else {\n"
            "  set terminal png size %.0f,%.0f background '#ffffff'\n}\nset output '%s.png'\nreplot\nset output\n",
            c->width, c->height, c->width, c->height, chart->stem);
    free(c);
    return ferror(out) ? ridge_fail(err, RIDGE_ENVIRONMENT, "%s: %s", chart->stem, strerror(errno)) : RIDGE_OK;
}

bool plot_has_gnuplot(void)
{
    const char *path = getenv("PATH");
    char *folders = path ? strdup(path) : NULL, *rest = folders;
    bool found = false;
    for (char *folder; rest && !found && (folder = strsep(&rest, ":"));) {
        char file[4096];
        snprintf(file, sizeof file, "%s/gnuplot", *folder ? folder : ".");
        found = access(file, X_OK) == 0;
    }
    free(folders);
    return found;
}

/* gnuplot says nothing and returns 0 when the disk is full, so a picture is looked at: does its end tell that it is
 * one?
 */
static bool is_whole(const char *path, const char *ending)
{
    char tail[64] = "";
    FILE *file = fopen(path, "r");
    bool whole = false;
    if (file && fseek(file, 0, SEEK_END) == 0) {
        long size = ftell(file), from = size > (long)sizeof tail ? size - (long)sizeof tail : 0;
        size_t bytes = fseek(file, from, SEEK_SET) == 0 ? fread(tail, 1, sizeof tail, file) : 0;
        whole = memmem(tail, bytes, ending, strlen(ending)) != NULL;
    }
    if (file)
        fclose(file);
    return whole;
}

static int check_pictures(const char *folder, const char *stem, struct ridge_error *err)
{
    static const char *const kind[][2] = {{"svg", "</svg>"}, {"png", "IEND"}};
    char path[4096];
    for (size_t i = 0; i < sizeof kind / sizeof *kind; i++) {
        snprintf(path, sizeof path, "%s/%s.%s", folder, stem, kind[i][0]);
        if (!is_whole(path, kind[i][1]))
            return ridge_fail(err, RIDGE_ENVIRONMENT, "%.400s: gnuplot did not finish it; is the disk full?", path);
    }
    return RIDGE_OK;
}

static int draw(const char *folder, const char *stem, struct ridge_error *err)
{
    char *cd = NULL, file[128];
    size_t bytes = 0;
    FILE *command = open_memstream(&cd, &bytes);
    if (!command)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "out of memory for a plot");
    fprintf(command, "cd ");
    put_quoted(command, folder);
    fclose(command);
    snprintf(file, sizeof file, "%s.gp", stem);
    char *argv[] = {"gnuplot", "-e", cd, file, NULL};
    pid_t child;
    int failed = posix_spawnp(&child, argv[0], NULL, NULL, argv, environ), state = 0;
    free(cd);
    if (failed)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "gnuplot: %s", strerror(failed));
    while (waitpid(child, &state, 0) < 0 && errno == EINTR)
        continue;
    if (!WIFEXITED(state) || WEXITSTATUS(state) != 0)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "gnuplot failed on %s/%s", folder, file);
    return RIDGE_OK;
}

int plot_draw(const struct chart *chart, const char *folder, bool *drawn, struct ridge_error *err)
{
    char *script = NULL, path[4096];
    size_t bytes = 0;
    *drawn = false;
    FILE *memory = open_memstream(&script, &bytes);
    if (!memory)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "out of memory for a plot");
    int status = plot_script(chart, memory, err);
    if (fclose(memory) && status == RIDGE_OK)
        status = ridge_fail(err, RIDGE_ENVIRONMENT, "out of memory for a plot");
    if (status)
        goto out;

    snprintf(path, sizeof path, "%s/%s.gp", folder, chart->stem);
    status = whole_file_write(path, script, bytes, err);
    if (status == RIDGE_OK && plot_has_gnuplot()) {
        status = draw(folder, chart->stem, err);
        if (status == RIDGE_OK)
            status = check_pictures(folder, chart->stem, err);
        *drawn = status == RIDGE_OK;
    }
out:
    free(script);
    return status;
}

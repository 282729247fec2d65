/* SPDX-License-Identifier: Apache-2.0 */
/* Placement of texts: nothing covers anything while there is room. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "roofline/layout.h"

static struct layout layout;

static void start(void)
{
    layout = (struct layout){.area = {0, 0, 1000, 800}};
}

static void crossings(void **state)
{
    (void)state;
    struct box box = {10, 10, 20, 20};
    assert_true(fabs(layout_crossing(box, (struct box){0, 15, 100, 15}) - 10) < 1e-9);
    assert_true(fabs(layout_crossing(box, (struct box){15, 12, 15, 18}) - 6) < 1e-9);
    assert_true(fabs(layout_crossing(box, (struct box){0, 0, 30, 30}) - 10 * sqrt(2)) < 1e-9);
    assert_true(layout_crossing(box, (struct box){0, 25, 100, 25}) == 0);
    assert_true(layout_crossing(box, (struct box){0, 0, 5, 5}) == 0);
}

static void cost_counts_what_is_covered(void **state)
{
    (void)state;
    start();
    layout_take(&layout, (struct box){100, 100, 110, 110});
    assert_true(fabs(layout_cost(&layout, (struct box){105, 105, 115, 115}) - 25) < 1e-9);
    assert_true(layout_cost(&layout, (struct box){111, 100, 121, 110}) == 0);
    assert_true(fabs(layout_cost(&layout, (struct box){-5, 0, 5, 10}) - 50) < 1e-9);
}

static void forty_numbers_of_a_cluster_do_not_overlap(void **state)
{
    (void)state;
    enum { POINTS = 40 };
    double x[POINTS], y[POINTS];
    start();
    for (int i = 0; i < POINTS; i++) {
        double px = 500 + 30 * (i % 4), py = 400 + 9 * (i / 4);
        layout_take(&layout, (struct box){px - 7, py - 7, px + 7, py + 7});
    }
    for (int i = 0; i < POINTS; i++) {
        bool far;
        layout_near(&layout, 500 + 30 * (i % 4), 400 + 9 * (i / 4), 16, 13, &x[i], &y[i], &far);
    }
    int clashes = 0;
    for (int i = 0; i < POINTS; i++)
        for (int j = 0; j < i; j++)
            clashes += fabs(x[i] - x[j]) < 16 - 1e-6 && fabs(y[i] - y[j]) < 13 - 1e-6;
    assert_int_equal(clashes, 0);
}

static void numbers_keep_off_lines(void **state)
{
    (void)state;
    double x, y;
    bool far;
    start();
    layout_take_line(&layout, (struct box){0, 400, 1000, 400});
    layout_near(&layout, 500, 400, 16, 13, &x, &y, &far);
    assert_true(fabs(y - 400) >= 6.5);
}

static void texts_along_a_line(void **state)
{
    (void)state;
    const double offset[2] = {11, -11};
    double x, y, first_x, first_y;
    start();
    layout_along(&layout, (struct box){0, 100, 1000, 100}, offset, 200, 14, &first_x, &first_y);
    assert_true(first_y == 111 && first_x < 150);
    layout_along(&layout, (struct box){0, 100, 1000, 100}, offset, 200, 14, &x, &y);
    assert_true(y == 111 && x - first_x >= 200 - 1e-6); /* behind the first */
    layout_along(&layout, (struct box){0, 100, 300, 100}, offset, 200, 14, &x, &y);
    assert_true(y == 89); /* no room above: the other side */
    layout_along(&layout, (struct box){500, 50, 500, 750}, (const double[2]){-9, 9}, 100, 12, &x, &y);
    assert_true(fabs(x - 509) < 1e-9); /* the right side of a line that goes up */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crossings),
        cmocka_unit_test(cost_counts_what_is_covered),
        cmocka_unit_test(forty_numbers_of_a_cluster_do_not_overlap),
        cmocka_unit_test(numbers_keep_off_lines),
        cmocka_unit_test(texts_along_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The bound chart: per variant one bar a resource, its demand as a share of the measured time. The data go to
 * DIR/bound_chart.json, reports/bound_chart.py draws DIR/bound_<family>[_host].svg and .png from them. */
#ifndef RIDGE_BOUND_CHART_H
#define RIDGE_BOUND_CHART_H

#include "reports/model.h"

/* Name of a family's chart without folder and extension: "bound_gemm_f32", "bound_gemm_f32_host". */
void bound_chart_name(const struct report *report, const struct report_device *device,
                      const struct report_family *family, char *buf, size_t bytes);

/* A family has a chart when a step of its ladder has a time and a known ceiling. */
bool bound_chart_wanted(const struct report_family *family);

/* Writes data and script into `dir` and draws the charts. Without an interpreter that imports matplotlib, or when
 * drawing fails, `note` (note_bytes long) says so and how to draw them later; that is not an error, and a chart that
 * fails does not keep the others from being drawn. */
int bound_chart_draw(const struct report *report, const char *dir, char *note, size_t note_bytes,
                     struct ridge_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/support/mla_algebra.h"

#include <math.h>
#include <stdlib.h>

static double dot(const double *x, const double *y, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

void mla_rotate(double *x, int64_t dim, double position)
{
    for (int64_t i = 0; i + 1 < dim; i += 2) {
        const double angle = position * pow(10000, -(double)i / (double)dim), c = cos(angle), s = sin(angle);
        const double x0 = x[i], x1 = x[i + 1];
        x[i] = x0 * c - x1 * s;
        x[i + 1] = x0 * s + x1 * c;
    }
}

void mla_absorb_query(const struct mla_model *m, const double *q, double *absorbed)
{
    for (int64_t h = 0; h < m->heads; h++) {
        const double *from = q + h * (m->head_dim + m->rope), *w = m->w_uk + h * m->head_dim * m->latent;
        double *to = absorbed + h * (m->latent + m->rope);
        for (int64_t c = 0; c < m->latent; c++) {
            to[c] = 0;
            for (int64_t i = 0; i < m->head_dim; i++)
                to[c] += w[i * m->latent + c] * from[i];
        }
        for (int64_t i = 0; i < m->rope; i++)
            to[m->latent + i] = from[m->head_dim + i];
    }
}

void mla_absorb_output(const struct mla_model *m, double *w_ov)
{
    for (int64_t row = 0; row < m->hidden * m->heads; row++) {
        const double *o = m->w_o + row * m->head_dim, *w = m->w_uv + row % m->heads * m->head_dim * m->latent;
        for (int64_t c = 0; c < m->latent; c++) {
            double sum = 0;
            for (int64_t i = 0; i < m->head_dim; i++)
                sum += o[i] * w[i * m->latent + c];
            w_ov[row * m->latent + c] = sum;
        }
    }
}

/* Scores become probabilities. */
static void softmax(double *score, int64_t tokens)
{
    double max = -INFINITY, sum = 0;
    for (int64_t j = 0; j < tokens; j++)
        max = fmax(max, score[j]);
    for (int64_t j = 0; j < tokens; j++)
        sum += score[j] = exp(score[j] - max);
    for (int64_t j = 0; j < tokens; j++)
        score[j] /= sum;
}

static double scale_of(const struct mla_model *m)
{
    return 1 / sqrt((double)(m->head_dim + m->rope));
}

/* One head: key (or value) i of token j is W[i] c_j. out [head_dim]. */
static void expanded_head(const struct mla_model *m, int64_t h, const double *q, const double *cache, int64_t tokens,
                          double *p, double *out)
{
    const int64_t stride = m->latent + m->rope;
    const double *w_uk = m->w_uk + h * m->head_dim * m->latent, *w_uv = m->w_uv + h * m->head_dim * m->latent;
    for (int64_t j = 0; j < tokens; j++) {
        const double *c = cache + j * stride;
        p[j] = dot(q + m->head_dim, c + m->latent, m->rope);
        for (int64_t i = 0; i < m->head_dim; i++)
            p[j] += q[i] * dot(w_uk + i * m->latent, c, m->latent);
        p[j] *= scale_of(m);
    }
    softmax(p, tokens);
    for (int64_t i = 0; i < m->head_dim; i++) {
        out[i] = 0;
        for (int64_t j = 0; j < tokens; j++)
            out[i] += p[j] * dot(w_uv + i * m->latent, cache + j * stride, m->latent);
    }
}

/* One head: out [latent]. */
static void absorbed_head(const struct mla_model *m, const double *q, const double *cache, int64_t tokens, double *p,
                          double *out)
{
    const int64_t stride = m->latent + m->rope;
    for (int64_t j = 0; j < tokens; j++)
        p[j] = dot(q, cache + j * stride, stride) * scale_of(m);
    softmax(p, tokens);
    for (int64_t c = 0; c < m->latent; c++) {
        out[c] = 0;
        for (int64_t j = 0; j < tokens; j++)
            out[c] += p[j] * cache[j * stride + c];
    }
}

int mla_attend_expanded(const struct mla_model *m, const double *q, const double *cache, int64_t tokens, double *u)
{
    double *p = calloc((size_t)tokens, sizeof *p);
    double *o = calloc((size_t)(m->heads * m->head_dim), sizeof *o);
    const int status = p && o ? 0 : 1;
    for (int64_t h = 0; h < m->heads && !status; h++)
        expanded_head(m, h, q + h * (m->head_dim + m->rope), cache, tokens, p, o + h * m->head_dim);
    for (int64_t i = 0; i < m->hidden && !status; i++)
        u[i] = dot(m->w_o + i * m->heads * m->head_dim, o, m->heads * m->head_dim);
    free(p);
    free(o);
    return status;
}

int mla_attend_absorbed(const struct mla_model *m, const double *absorbed, const double *w_ov, const double *cache,
                        int64_t tokens, double *u)
{
    double *p = calloc((size_t)tokens, sizeof *p);
    double *o = calloc((size_t)(m->heads * m->latent), sizeof *o);
    const int status = p && o ? 0 : 1;
    for (int64_t h = 0; h < m->heads && !status; h++)
        absorbed_head(m, absorbed + h * (m->latent + m->rope), cache, tokens, p, o + h * m->latent);
    for (int64_t i = 0; i < m->hidden && !status; i++)
        u[i] = dot(w_ov + i * m->heads * m->latent, o, m->heads * m->latent);
    free(p);
    free(o);
    return status;
}

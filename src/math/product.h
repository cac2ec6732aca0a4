/* product: matrix products of any layout in the vocabulary of simd.h; included once by each copy of
 * kernels_impl.c.
 *
 * C is made in blocks of ROWS x 2 vectors that stay in registers over the whole inner sum. The columns of B
 * that a block needs are copied into a panel first, so that they lie side by side in the first cache: here,
 * at most DEPTH deep, or once and for all by product_pack, as panel after panel over the whole depth. A is
 * read where it is. Every number of C is one sum in the order of k, whatever block it falls into, so a row's
 * result does not depend on its neighbours. */
#ifndef MATH_PRODUCT_H
#define MATH_PRODUCT_H

#include "simd.h"
#include <stddef.h>

enum { PRODUCT_ROWS = VW == 16 ? 12 : 6, PRODUCT_COLUMNS = 2 * VW, PRODUCT_DEPTH = 256 };

/* Element (i, j) of a matrix at data[i*row + j*column]: row-major or transposed, or a part of either. */
struct matrix {
    const float *data;
    ptrdiff_t row, column;
};

/* depth x width of B from its element at `data`, filled up with zeros to whole vectors. */
SIMD void fill_panel(float *panel, const float *data, ptrdiff_t row, ptrdiff_t column, int depth, int width)
{
    if (column == 1 && width == PRODUCT_COLUMNS) {
        for (int i = 0; i < depth; i++, data += row, panel += PRODUCT_COLUMNS) {
            vf_store(panel, vf_load(data));
            vf_store(panel + VW, vf_load(data + VW));
        }
        return;
    }
    int done = 0;
    if (row == 1 && width == PRODUCT_COLUMNS) /* a transposed matrix: square by square */
        for (; done + VW <= depth; done += VW)
            for (int v = 0; v < PRODUCT_COLUMNS; v += VW) {
                vf square[VW];
                for (int j = 0; j < VW; j++)
                    square[j] = vf_load(data + (v + j) * column + done);
                vf_transpose(square);
                for (int i = 0; i < VW; i++)
                    vf_store(panel + (size_t)(done + i) * PRODUCT_COLUMNS + v, square[i]);
            }
    for (int j = 0; j < PRODUCT_COLUMNS; j++)
        for (int i = done; i < depth; i++)
            panel[i * PRODUCT_COLUMNS + j] = j < width ? data[i * row + j * column] : 0.0f;
}

/* rows x vectors of C, both constants where it is called. */
SIMD void product_block(float *c, int ldc, const float *a, ptrdiff_t a_row, ptrdiff_t a_column,
                        const float *panel, int depth, float beta, const int rows, const int vectors)
{
    vf sum[PRODUCT_ROWS][2];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++)
            sum[r][v] = vf_all(0.0f);
    for (int i = 0; i < depth; i++, a += a_column, panel += PRODUCT_COLUMNS) {
        vf b[2];
        for (int v = 0; v < vectors; v++)
            b[v] = vf_load(panel + v * VW);
        for (int r = 0; r < rows; r++) {
            vf x = vf_all(a[r * a_row]);
            for (int v = 0; v < vectors; v++)
                sum[r][v] += x * b[v];
        }
    }
    for (int r = 0; r < rows; r++, c += ldc)
        for (int v = 0; v < vectors; v++)
            vf_store(c + v * VW, beta == 0 ? sum[r][v] : beta * vf_load(c + v * VW) + sum[r][v]);
}

SIMD void product_rows(float *c, int ldc, struct matrix a, const float *panel, int m, int depth, float beta,
                       const int vectors)
{
    int r = 0;
#define PRODUCT_WHILE(rows)                                                                                \
    for (; r + (rows) <= m; r += (rows))                                                                   \
    product_block(c + (size_t)r * ldc, ldc, a.data + r * a.row, a.row, a.column, panel, depth, beta, rows, \
                  vectors)
#if VW == 16
    PRODUCT_WHILE(12);
    PRODUCT_WHILE(8);
#else
    PRODUCT_WHILE(6);
#endif
    PRODUCT_WHILE(4);
    PRODUCT_WHILE(2);
    PRODUCT_WHILE(1);
#undef PRODUCT_WHILE
}

/* Columns that are not whole vectors: made in a place of their own and copied. */
static void product_ragged(float *c, int ldc, struct matrix a, const float *panel, int m, int width,
                           int depth, float beta)
{
    float place[PRODUCT_ROWS * PRODUCT_COLUMNS];
    for (int r = 0; r < m; r += PRODUCT_ROWS) {
        int rows = m - r < PRODUCT_ROWS ? m - r : PRODUCT_ROWS;
        struct matrix block = {a.data + r * a.row, a.row, a.column};
        product_rows(place, PRODUCT_COLUMNS, block, panel, rows, depth, 0.0f, 2);
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < width; j++) {
                float *to = c + (size_t)(r + i) * ldc + j;
                *to = place[i * PRODUCT_COLUMNS + j] + (beta == 0 ? 0.0f : beta * *to);
            }
    }
}

/* One panel's columns of C. */
SIMD void product_columns(float *c, int ldc, struct matrix a, const float *panel, int m, int width, int depth,
                          float beta)
{
    if (width == PRODUCT_COLUMNS)
        product_rows(c, ldc, a, panel, m, depth, beta, 2);
    else if (width == VW)
        product_rows(c, ldc, a, panel, m, depth, beta, 1);
    else
        product_ragged(c, ldc, a, panel, m, width, depth, beta);
}

SIMD int product_width(int n, int j)
{
    return n - j < PRODUCT_COLUMNS ? n - j : PRODUCT_COLUMNS;
}

static void product_pack(float *packed, struct matrix b, int k, int n)
{
    for (int j = 0; j < n; j += PRODUCT_COLUMNS, packed += (size_t)k * PRODUCT_COLUMNS)
        fill_panel(packed, b.data + j * b.column, b.row, b.column, k, product_width(n, j));
}

static void product_packed(float *c, int ldc, struct matrix a, const float *packed, int m, int n, int k,
                           float beta)
{
    for (int j = 0; j < n; j += PRODUCT_COLUMNS, packed += (size_t)k * PRODUCT_COLUMNS)
        product_columns(c + j, ldc, a, packed, m, product_width(n, j), k, beta);
}

enum { PRODUCT_PANELS = 128 / PRODUCT_COLUMNS };

/* C [m x n] = beta C + A^T B, A [k x m], B [k x n]. The numbers of A that a block needs lie in as many places
 * as the sum is deep, so they are copied too, and then used for all panels. */
static void product_tn(float *c, int ldc, const float *a, int lda, const float *b, int ldb, int m, int n,
                       int k, float beta)
{
    float panels[PRODUCT_PANELS * PRODUCT_DEPTH * PRODUCT_COLUMNS] __attribute__((aligned(64)));
    float block[PRODUCT_DEPTH * PRODUCT_ROWS];
    for (int j0 = 0; j0 < n; j0 += PRODUCT_PANELS * PRODUCT_COLUMNS)
        for (int i = 0; i < k; i += PRODUCT_DEPTH) {
            int depth = k - i < PRODUCT_DEPTH ? k - i : PRODUCT_DEPTH;
            int j1 = n - j0 < PRODUCT_PANELS * PRODUCT_COLUMNS ? n : j0 + PRODUCT_PANELS * PRODUCT_COLUMNS;
            float *panel = panels;
            for (int j = j0; j < j1; j += PRODUCT_COLUMNS, panel += PRODUCT_DEPTH * PRODUCT_COLUMNS)
                fill_panel(panel, b + (size_t)i * ldb + j, ldb, 1, depth, product_width(j1, j));
            for (int r = 0; r < m; r += PRODUCT_ROWS) {
                int rows = m - r < PRODUCT_ROWS ? m - r : PRODUCT_ROWS;
                for (int d = 0; d < depth; d++)
                    memcpy(block + d * rows, a + (size_t)(i + d) * lda + r, sizeof *block * (size_t)rows);
                panel = panels;
                for (int j = j0; j < j1; j += PRODUCT_COLUMNS, panel += PRODUCT_DEPTH * PRODUCT_COLUMNS)
                    product_columns(c + (size_t)r * ldc + j, ldc, (struct matrix){block, 1, rows}, panel,
                                    rows, product_width(j1, j), depth, i == 0 ? beta : 1.0f);
            }
        }
}

/* C [m x n] = beta C + A B, A [m x k], B [k x n] */
static void product(float *c, int ldc, struct matrix a, struct matrix b, int m, int n, int k, float beta)
{
    float panel[PRODUCT_DEPTH * PRODUCT_COLUMNS] __attribute__((aligned(64)));
    for (int j = 0; j < n; j += PRODUCT_COLUMNS)
        for (int i = 0; i < k; i += PRODUCT_DEPTH) {
            int depth = k - i < PRODUCT_DEPTH ? k - i : PRODUCT_DEPTH;
            struct matrix part = {a.data + i * a.column, a.row, a.column};
            fill_panel(panel, b.data + i * b.row + j * b.column, b.row, b.column, depth, product_width(n, j));
            product_columns(c + j, ldc, part, panel, m, product_width(n, j), depth, i == 0 ? beta : 1.0f);
        }
}

#endif

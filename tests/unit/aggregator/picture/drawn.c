#include "drawn.h"

#include "unit/files/folder.h"

#include <cairo.h>
#include <criterion/criterion.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX ((size_t)64 << 20)
#define DEPTH_MAX 16
#define TEXTS_MAX 512

void drawn_clean_up(void)
{
    folder_remove();
    picture_release_fonts();
}

char *drawn_read(const char *name, size_t *len)
{
    FILE *stream = fopen(folder_path(name), "rb");
    cr_assert_not_null(stream, "%s", name);
    cr_assert_eq(fseek(stream, 0, SEEK_END), 0);
    const long size = ftell(stream);
    cr_assert(size >= 0 && (size_t)size < FILE_MAX);
    rewind(stream);
    char *text = malloc((size_t)size + 1);
    cr_assert_not_null(text);
    cr_assert_eq(fread(text, 1, (size_t)size, stream), (size_t)size);
    text[size] = '\0';
    (void)fclose(stream);
    if (len) {
        *len = (size_t)size;
    }
    return text;
}

void expect_no_file(const char *name)
{
    DIR *folder = opendir(folder_path("."));
    cr_assert_not_null(folder);
    for (struct dirent *e = readdir(folder); e; e = readdir(folder)) {
        cr_assert_neq(strncmp(e->d_name, name, strlen(name)), 0, "%s is there", e->d_name);
    }
    (void)closedir(folder);
}

/* ---- png ---- */

static uint32_t big_endian(const char *text)
{
    const unsigned char *b = (const unsigned char *)text;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static cairo_surface_t *load_png(const char *name)
{
    cairo_surface_t *surface = cairo_image_surface_create_from_png(folder_path(name));
    cr_assert_eq(cairo_surface_status(surface), CAIRO_STATUS_SUCCESS, "%s", name);
    return surface;
}

void expect_png(const char *name, const struct picture_size *size)
{
    size_t len = 0;
    char *bytes = drawn_read(name, &len);
    cr_assert_gt(len, 45);
    cr_assert_eq(memcmp(bytes, "\x89PNG\r\n\x1a\n", 8), 0);
    cr_assert_eq(memcmp(bytes + 12, "IHDR", 4), 0);
    cr_assert_eq(big_endian(bytes + 16), size->width);
    cr_assert_eq(big_endian(bytes + 20), size->height);
    cr_assert_eq(memcmp(bytes + len - 8, "IEND", 4), 0);
    free(bytes);
    cairo_surface_destroy(load_png(name));
}

struct patch drawn_find(const char *name, struct colour colour)
{
    cairo_surface_t *surface = load_png(name);
    const int width = cairo_image_surface_get_width(surface);
    const int height = cairo_image_surface_get_height(surface);
    const int stride = cairo_image_surface_get_stride(surface);
    const unsigned char *data = cairo_image_surface_get_data(surface);
    struct patch patch = {0, 0, 0};
    for (int i = 0; i < height; i++) {
        for (int j = 0; j < width; j++) {
            uint32_t pixel = 0;
            memcpy(&pixel, data + (ptrdiff_t)i * stride + (ptrdiff_t)4 * j, sizeof pixel);
            if ((pixel & 0xFFFFFF) ==
                ((uint32_t)colour.red << 16 | (uint32_t)colour.green << 8 | colour.blue)) {
                patch.n++;
                patch.x += j;
                patch.y += i;
            }
        }
    }
    const double n = patch.n ? (double)patch.n : 1;
    patch.x /= n * width;
    patch.y /= n * height;
    cairo_surface_destroy(surface);
    return patch;
}

/* ---- svg ---- */

size_t drawn_count(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part)) {
        n++;
    }
    return n;
}

double drawn_number(const char *text, const char *part, size_t n)
{
    const char *at = strstr(text, part);
    for (; at && n > 0; n--) {
        at = strstr(at + 1, part);
    }
    cr_assert_not_null(at, "%s", part);
    return strtod(at + strlen(part), NULL);
}

static const char *skip_attributes(const char *at)
{
    while (*at == ' ') {
        at++;
        const size_t name_len =
            strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-1234");
        cr_assert_gt(name_len, 0);
        at += name_len;
        cr_assert(at[0] == '=' && at[1] == '"', "%.40s", at);
        at += 2;
        at += strcspn(at, "\"<&");
        cr_assert_eq(*at, '"', "%.40s", at);
        at++;
    }
    return at;
}

static const char *skip_reference(const char *at)
{
    static const char *const known[] = {"&amp;", "&lt;", "&gt;"};
    for (size_t i = 0; i < 3; i++) {
        if (strncmp(at, known[i], strlen(known[i])) == 0) {
            return at + strlen(known[i]);
        }
    }
    cr_assert_fail("%.20s", at);
    return at;
}

/* Accepts the XML that the writer uses: a declaration, elements with attributes, text. */
static void expect_well_formed(const char *text)
{
    const char *open[DEPTH_MAX];
    size_t depth = 0, n_roots = 0;
    const char *at = strstr(text, "?>");
    cr_assert(strncmp(text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>", 38) == 0 && at);
    for (at += 2; *at;) {
        if (*at != '<') {
            cr_assert((unsigned char)*at >= ' ' || *at == '\n', "control character %d", *at);
            cr_assert(depth > 0 || *at == '\n');
            at = *at == '&' ? skip_reference(at) : at + 1;
            continue;
        }
        const bool is_end = at[1] == '/';
        const char *name = at + 1 + is_end;
        const size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz");
        cr_assert_gt(len, 0, "%.40s", at);
        at = is_end ? name + len : skip_attributes(name + len);
        if (is_end) {
            cr_assert_gt(depth, 0);
            depth--;
            cr_assert_eq(strncmp(open[depth], name, len + 0), 0, "%.20s ends %.20s", name,
                         open[depth]);
        } else if (strncmp(at, "/>", 2) == 0) {
            at++;
        } else {
            cr_assert_lt(depth, DEPTH_MAX);
            n_roots += depth == 0;
            open[depth++] = name;
        }
        cr_assert_eq(*at, '>', "%.40s", at);
        at++;
    }
    cr_assert_eq(depth, 0);
    cr_assert_eq(n_roots, 1);
}

/* ---- texts of an svg ---- */

struct text_box {
    double left, top, right, bottom;
    char text[300];
};

static void unescape(const char *from, const char *to, char *out, size_t cap)
{
    size_t n = 0;
    while (from < to && n + 1 < cap) {
        const char *next = *from == '&' ? skip_reference(from) : from + 1;
        out[n++] = *from != '&' ? *from : from[1] == 'a' ? '&' : from[1] == 'l' ? '<' : '>';
        from = next;
    }
    out[n] = '\0';
}

static struct text_box measure(const char *element)
{
    struct text_box box;
    const char *content = strchr(element, '>') + 1, *end = strstr(content, "</text>");
    const char *bold = strstr(element, "font-weight"), *up = strstr(element, "rotate(-90");
    const struct picture_font font = {drawn_number(element, " font-size=\"", 0),
                                      bold && bold < content};
    const double x = drawn_number(element, " x=\"", 0), y = drawn_number(element, " y=\"", 0);
    unescape(content, end, box.text, sizeof box.text);
    const double width = picture_text_width(&font, box.text);
    const char *anchor = strstr(element, "text-anchor=\"") + 13;
    const double start = *anchor == 's' ? 0 : *anchor == 'm' ? width / 2 : width;
    const double above = 0.76 * font.size, below = 0.2 * font.size;
    if (up && up < content) {
        box.left = x - above;
        box.right = x + below;
        box.bottom = y + start;
        box.top = box.bottom - width;
    } else {
        box.left = x - start;
        box.right = box.left + width;
        box.top = y - above;
        box.bottom = y + below;
    }
    return box;
}

static void expect_texts_apart(const char *svg, double width, double height)
{
    static struct text_box boxes[TEXTS_MAX];
    size_t n = 0;
    for (const char *at = strstr(svg, "<text "); at && n < TEXTS_MAX;
         at = strstr(at + 1, "<text ")) {
        const struct text_box b = measure(at);
        cr_assert(b.left >= 0 && b.top >= 0 && b.right <= width && b.bottom <= height,
                  "\"%s\" leaves the page: %g %g %g %g of %g x %g", b.text, b.left, b.top, b.right,
                  b.bottom, width, height);
        for (size_t i = 0; i < n; i++) {
            cr_assert(b.left >= boxes[i].right || b.right <= boxes[i].left ||
                          b.top >= boxes[i].bottom || b.bottom <= boxes[i].top,
                      "\"%s\" overlaps \"%s\"", b.text, boxes[i].text);
        }
        boxes[n++] = b;
    }
}

char *expect_svg(const char *name, const struct picture_size *size)
{
    char *text = drawn_read(name, NULL);
    expect_well_formed(text);
    const double width = drawn_number(text, " width=\"", 0);
    if (size) {
        cr_assert_eq(width, size->width);
        cr_assert_eq(drawn_number(text, " height=\"", 0), size->height);
    }
    const char *view = strstr(text, "viewBox=\"0 0 ") + 13;
    char *end = NULL;
    const double page_width = strtod(view, &end), page_height = strtod(end, NULL);
    expect_texts_apart(text, page_width, page_height);
    return text;
}

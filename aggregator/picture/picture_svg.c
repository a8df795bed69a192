/* Pictures as .svg, written while they are drawn.
 *
 * cairo's own .svg output is not used: it turns texts into outlines, so that titles cannot be
 * found, read aloud or edited, and it numbers elements by a process-wide counter, so that drawing
 * the same picture twice gives different files. Here texts stay texts, in a font whose substitutes
 * are narrower, so a text that fits as measured fits everywhere. */
#include "base/alloc.h"
#include "picture/picture_format.h"

#include <math.h>
#include <string.h>

#define NUMBER_MAX 40

static FILE *stream_of(struct picture *picture)
{
    return picture->output.stream;
}

/* A position with at most two decimals, without trailing zeros. */
static const char *number(double value, char text[NUMBER_MAX])
{
    const double bounded = fmax(-1e9, fmin(value, 1e9));
    (void)snprintf(text, NUMBER_MAX, "%.2f", bounded);
    size_t len = strlen(text);
    while (text[len - 1] == '0') {
        len--;
    }
    len -= text[len - 1] == '.';
    text[len] = '\0';
    return strcmp(text, "-0") == 0 ? "0" : text;
}

static void put_number(FILE *stream, const char *name, double value)
{
    char text[NUMBER_MAX];
    (void)fprintf(stream, " %s=\"%s\"", name, number(value, text));
}

static void put_box(FILE *stream, const struct picture_box *box)
{
    put_number(stream, "x", box->x);
    put_number(stream, "y", box->y);
    put_number(stream, "width", box->width);
    put_number(stream, "height", box->height);
}

static void put_colour(FILE *stream, const char *name, struct colour colour)
{
    (void)fprintf(stream, " %s=\"#%02x%02x%02x\"", name, (unsigned)colour.red,
                  (unsigned)colour.green, (unsigned)colour.blue);
}

static void put_opacity(FILE *stream, const char *name, double opacity)
{
    if (opacity < 1) {
        put_number(stream, name, opacity);
    }
}

/* Clean text as the content of an element. */
static void put_text(FILE *stream, const char *text)
{
    for (const char *s = text; *s; s++) {
        switch (*s) {
        case '&':
            (void)fputs("&amp;", stream);
            break;
        case '<':
            (void)fputs("&lt;", stream);
            break;
        case '>':
            (void)fputs("&gt;", stream);
            break;
        default:
            (void)fputc(*s, stream);
        }
    }
}

static dpot_status begin(struct picture *picture, const char *title)
{
    FILE *stream = stream_of(picture);
    char width[NUMBER_MAX], height[NUMBER_MAX];
    (void)fprintf(stream,
                  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
                  "viewBox=\"0 0 %s %s\" role=\"img\" "
                  "font-family=\"DejaVu Sans, Verdana, Arial, sans-serif\">\n<title>",
                  (unsigned)picture->size.width, (unsigned)picture->size.height,
                  number(picture->size.width / picture->scale, width),
                  number(picture->size.height / picture->scale, height));
    put_text(stream, title);
    (void)fputs("</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n", stream);
    return DPOT_OK;
}

static void release(struct picture *picture)
{
    (void)picture;
}

static void fill(struct picture *picture, const struct picture_box *box, struct colour colour)
{
    FILE *stream = stream_of(picture);
    (void)fputs("<rect", stream);
    put_box(stream, box);
    put_colour(stream, "fill", colour);
    (void)fputs("/>\n", stream);
}

static void line(struct picture *picture, const double *points, size_t n,
                 const struct picture_stroke *stroke)
{
    FILE *stream = stream_of(picture);
    char x[NUMBER_MAX], y[NUMBER_MAX];
    const bool is_closed =
        n > 2 && points[0] == points[2 * n - 2] && points[1] == points[2 * n - 1];
    (void)fputs("<path fill=\"none\" stroke-linejoin=\"round\"", stream);
    put_colour(stream, "stroke", stroke->colour);
    put_number(stream, "stroke-width", stroke->width);
    put_opacity(stream, "stroke-opacity", stroke->opacity);
    if (stroke->dash > 0) {
        (void)fprintf(stream, " stroke-dasharray=\"%s %s\"", number(stroke->dash, x),
                      number(stroke->space, y));
    } else {
        (void)fputs(" stroke-linecap=\"round\"", stream);
    }
    (void)fputs(" d=\"M", stream);
    for (size_t i = 0; i < n - is_closed; i++) {
        (void)fprintf(stream, "%s%s %s", i ? "L" : "", number(points[2 * i], x),
                      number(points[2 * i + 1], y));
    }
    (void)fprintf(stream, "%s\"/>\n", is_closed ? "Z" : "");
}

static void dot(struct picture *picture, double x, double y, double radius, struct colour colour,
                double opacity)
{
    FILE *stream = stream_of(picture);
    (void)fputs("<circle", stream);
    put_number(stream, "cx", x);
    put_number(stream, "cy", y);
    put_number(stream, "r", radius);
    put_colour(stream, "fill", colour);
    put_opacity(stream, "fill-opacity", opacity);
    (void)fputs("/>\n", stream);
}

/* One path with a rectangle for every run of cells of this level. */
static void put_level(FILE *stream, size_t n_rows, size_t n_cols, const uint8_t *levels,
                      uint8_t level, struct colour colour)
{
    (void)fputs("<path", stream);
    put_colour(stream, "fill", colour);
    (void)fputs(" d=\"", stream);
    for (size_t i = 0; i < n_rows; i++) {
        const uint8_t *row = levels + i * n_cols;
        for (size_t j = 0; j < n_cols; j++) {
            const size_t start = j;
            while (j < n_cols && row[j] == level) {
                j++;
            }
            if (j > start) {
                (void)fprintf(stream, "M%zu %zuh%zuv1h-%zuz", start, i, j - start, j - start);
            }
        }
    }
    (void)fputs("\"/>\n", stream);
}

static void cells(struct picture *picture, const struct picture_box *box, size_t n_rows,
                  size_t n_cols, const uint8_t *levels, const struct colour *palette)
{
    FILE *stream = stream_of(picture);
    char x[NUMBER_MAX], y[NUMBER_MAX];
    bool is_used[COLOUR_LEVELS] = {false};
    for (size_t i = 0; i < n_rows * n_cols; i++) {
        is_used[levels[i]] = true;
    }
    (void)fprintf(stream,
                  "<g shape-rendering=\"crispEdges\" transform=\"translate(%s %s) scale(%.9g "
                  "%.9g)\">\n",
                  number(box->x, x), number(box->y, y), box->width / (double)n_cols,
                  box->height / (double)n_rows);
    for (size_t level = 0; level < COLOUR_LEVELS; level++) {
        if (is_used[level]) {
            put_level(stream, n_rows, n_cols, levels, (uint8_t)level, palette[level]);
        }
    }
    (void)fputs("</g>\n", stream);
}

static void text(struct picture *picture, double x, double y, enum picture_anchor anchor,
                 bool is_upward, const struct picture_font *font, const char *words)
{
    static const char *const anchors[] = {
        [PICTURE_START] = "start", [PICTURE_MIDDLE] = "middle", [PICTURE_END] = "end"};
    FILE *stream = stream_of(picture);
    char x_text[NUMBER_MAX], y_text[NUMBER_MAX];
    (void)fputs("<text", stream);
    put_number(stream, "x", x);
    put_number(stream, "y", y);
    put_number(stream, "font-size", font->size);
    (void)fprintf(stream, " text-anchor=\"%s\"%s", anchors[anchor],
                  font->is_bold ? " font-weight=\"bold\"" : "");
    put_colour(stream, "fill", colour_ink);
    if (is_upward) {
        (void)fprintf(stream, " transform=\"rotate(-90 %s %s)\"", number(x, x_text),
                      number(y, y_text));
    }
    (void)fputc('>', stream);
    put_text(stream, words);
    (void)fputs("</text>\n", stream);
}

/* A nested svg element clips to its own box without an id, which would have to be unique in a page
 * that embeds the picture. */
static void clip(struct picture *picture, const struct picture_box *box)
{
    FILE *stream = stream_of(picture);
    char x[NUMBER_MAX], y[NUMBER_MAX], width[NUMBER_MAX], height[NUMBER_MAX];
    (void)fputs("<svg", stream);
    put_box(stream, box);
    (void)fprintf(stream, " viewBox=\"%s %s %s %s\" overflow=\"hidden\">\n", number(box->x, x),
                  number(box->y, y), number(box->width, width), number(box->height, height));
}

static void unclip(struct picture *picture)
{
    (void)fputs("</svg>\n", stream_of(picture));
}

static dpot_status end(struct picture *picture)
{
    picture_unclip(picture);
    (void)fputs("</svg>\n", stream_of(picture)); /* output_commit checks ferror */
    return DPOT_OK;
}

const struct picture_format picture_format_svg = {
    .extension = ".svg",
    .marks_max = PICTURE_SVG_MARKS_MAX,
    .begin = begin,
    .fill = fill,
    .line = line,
    .dot = dot,
    .cells = cells,
    .text = text,
    .clip = clip,
    .unclip = unclip,
    .end = end,
    .release = release,
};

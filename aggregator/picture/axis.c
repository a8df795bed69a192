#include "picture/axis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A range below this fraction of its values is treated as a single value. Logarithms are relative
 * already, and near the value 1 the logarithm itself is tiny, so their range is compared with 1. */
#define SINGLE 1e-9
#define SMALLEST 1e-300

void axis_init(struct axis *axis, enum axis_kind kind, bool is_log, double lo, double hi,
               double margin)
{
    *axis = (struct axis){.kind = kind, .is_log = is_log};
    axis->lo = is_log ? log10(lo) : lo;
    axis->hi = is_log ? log10(hi) : hi;
    const double size = fmax(fabs(axis->lo), fabs(axis->hi));
    double range = axis->hi - axis->lo;
    if (!(range > SINGLE * (is_log ? fmax(size, 1) : size)) || range < SMALLEST) {
        const double around = is_log ? 0.5 : size > SMALLEST ? size / 10 : 1;
        axis->lo -= around;
        axis->hi += around;
        range = axis->hi - axis->lo;
    }
    axis->lo -= margin * range;
    axis->hi += margin * range;
}

double axis_share(const struct axis *axis, double value)
{
    if (axis->is_log && !(value > 0)) {
        return NAN;
    }
    return ((axis->is_log ? log10(value) : value) - axis->lo) / (axis->hi - axis->lo);
}

double axis_tick_share(const struct axis *axis, size_t i)
{
    return (axis->ticks[i].value - axis->lo) / (axis->hi - axis->lo);
}

/* ---- numbers ---- */

/* "3·10^5" with superscripts; `mantissa` may be "". */
static void write_power(char out[AXIS_TEXT_MAX], const char *mantissa, int exponent)
{
    static const char *const digits[10] = {
        "\xE2\x81\xB0", "\xC2\xB9",     "\xC2\xB2",     "\xC2\xB3",     "\xE2\x81\xB4",
        "\xE2\x81\xB5", "\xE2\x81\xB6", "\xE2\x81\xB7", "\xE2\x81\xB8", "\xE2\x81\xB9"};
    char plain[16];
    int n = snprintf(out, AXIS_TEXT_MAX, "%s%s10", mantissa, mantissa[0] ? "\xC3\x97" : "");
    (void)snprintf(plain, sizeof plain, "%d", exponent);
    for (const char *p = plain; *p && n < AXIS_TEXT_MAX; p++) {
        n += snprintf(out + n, (size_t)(AXIS_TEXT_MAX - n), "%s",
                      *p == '-' ? "\xE2\x81\xBB" : digits[*p - '0']);
    }
}

/* With U+2212 as minus sign, and without "-0". */
static void write_decimal(char out[AXIS_TEXT_MAX], double value, int decimals)
{
    char plain[AXIS_TEXT_MAX - 4];
    (void)snprintf(plain, sizeof plain, "%.*f", decimals, fabs(value));
    const bool is_zero = plain[strspn(plain, "0.")] == '\0';
    (void)snprintf(out, AXIS_TEXT_MAX, "%s%s", value < 0 && !is_zero ? "\xE2\x88\x92" : "", plain);
}

static void write_degrees(char out[AXIS_TEXT_MAX], double value, int decimals, bool is_latitude)
{
    char plain[AXIS_TEXT_MAX - 8];
    (void)snprintf(plain, sizeof plain, "%.*f", decimals, fabs(value));
    const bool is_zero = plain[strspn(plain, "0.")] == '\0';
    const char *side = is_zero       ? ""
                       : is_latitude ? (value < 0 ? " S" : " N")
                                     : (value < 0 ? " W" : " E");
    (void)snprintf(out, AXIS_TEXT_MAX, "%s\xC2\xB0%s", plain, side);
}

/* The format shared by all numbers of an axis. */
struct number_format {
    int decimals;
    int exponent; /* exponent of the common factor; 0: none */
};

/* Decimals needed to show a step. */
static int decimals_of(double step)
{
    const double digits = -floor(log10(step) + 1e-9);
    return digits > 0 ? (int)digits : 0;
}

static struct number_format choose_format(double largest, double step)
{
    struct number_format format = {decimals_of(step), 0};
    if (largest >= 1e6 || largest < 1e-3) {
        const int exponent = (int)floor(log10(largest) + 1e-9);
        const int of_step = (int)floor(log10(step) + 1e-9);
        const int decimals = exponent > of_step ? exponent - of_step : 0;
        /* Numbers that differ only in their last digits are easier to read in full. */
        if (decimals <= 6 || largest >= 1e12 || largest < 1e-3) {
            format = (struct number_format){decimals, exponent};
        }
    }
    return format;
}

static void write_number(char out[AXIS_TEXT_MAX], double value, struct number_format format)
{
    if (format.exponent == 0 || value == 0) {
        write_decimal(out, value, value == 0 && format.exponent ? 0 : format.decimals);
        return;
    }
    char mantissa[AXIS_TEXT_MAX];
    /* In two steps, since 10^exponent may overflow. */
    const int half = format.exponent / 2;
    write_decimal(mantissa, value / pow(10, half) / pow(10, format.exponent - half),
                  format.decimals);
    write_power(out, mantissa, format.exponent);
}

/* ---- ticks ---- */

/* The smallest of 1, 2, 5 times a power of ten that is at least `step`. */
static double nice_step(double step)
{
    static const double nice[] = {1, 2, 5, 10};
    const double power = pow(10, floor(log10(step)));
    for (size_t i = 0; i < 4; i++) {
        if (step <= nice[i] * power * (1 + 1e-9)) {
            return nice[i] * power;
        }
    }
    return 10 * power;
}

static struct axis_tick *add_tick(struct axis *axis, double value)
{
    if (axis->n_ticks == AXIS_TICKS_MAX) {
        return NULL;
    }
    struct axis_tick *tick = &axis->ticks[axis->n_ticks++];
    *tick = (struct axis_tick){.value = value};
    return tick;
}

/* Multiples of a nice step, about n of them. */
static void choose_linear(struct axis *axis, double n)
{
    double step = nice_step((axis->hi - axis->lo) / n);
    if (axis->kind == AXIS_INDEX && step < 1) {
        step = 1;
    }
    const struct number_format format = choose_format(fmax(fabs(axis->lo), fabs(axis->hi)), step);
    for (double k = ceil(axis->lo / step - 1e-6); k <= axis->hi / step + 1e-6; k++) {
        const double value = k * step;
        if (axis->kind == AXIS_LATITUDE && fabs(value) > 90) {
            continue; /* margin beyond a pole */
        }
        struct axis_tick *tick = add_tick(axis, value);
        if (!tick) {
            return;
        }
        if (axis->kind == AXIS_LATITUDE || axis->kind == AXIS_LONGITUDE) {
            write_degrees(tick->text, value, decimals_of(step), axis->kind == AXIS_LATITUDE);
        } else {
            write_number(tick->text, value, format);
        }
    }
}

/* Powers of ten, every `stride`-th with a number. */
static void choose_decades(struct axis *axis, double n)
{
    const double first = ceil(axis->lo - 1e-6), last = floor(axis->hi + 1e-6);
    const double stride = fmax(1, nice_step((last - first) / n));
    const bool is_plain = axis->lo > -3.5 && axis->hi < 4.5;
    for (double k = ceil(axis->lo / stride - 1e-6) * stride; k <= last; k += stride) {
        struct axis_tick *tick = add_tick(axis, k);
        if (tick && is_plain) {
            write_decimal(tick->text, pow(10, k), k < 0 ? (int)-k : 0);
        } else if (tick) {
            write_power(tick->text, "", (int)k);
        }
    }
    for (double k = first - 1; stride < 1.5 && last - first <= 6 && k <= last; k++) {
        for (int m = 2; m <= 9; m++) {
            const double value = k + log10(m);
            if (value > axis->lo && value < axis->hi) {
                (void)add_tick(axis, value);
            }
        }
    }
}

/* For a range with at most one power of ten: round numbers at their logarithms. */
static void choose_within_decade(struct axis *axis, double n)
{
    const double shift = floor(axis->lo); /* values times 10^-shift start in [1, 10) */
    const double lo = pow(10, axis->lo - shift), hi = pow(10, axis->hi - shift);
    const double step = nice_step((hi - lo) / n);
    const bool is_plain = axis->lo > -3.5 && axis->hi < 4.5;
    for (double k = ceil(lo / step - 1e-6); k <= hi / step + 1e-6; k++) {
        char mantissa[AXIS_TEXT_MAX];
        struct axis_tick *tick = k > 0 ? add_tick(axis, log10(k * step) + shift) : NULL;
        if (tick && is_plain) {
            write_decimal(tick->text, k * step * pow(10, shift),
                          decimals_of(step * pow(10, shift)));
        } else if (tick) {
            write_decimal(mantissa, k * step, decimals_of(step));
            write_power(tick->text, mantissa, (int)shift);
        }
    }
}

/* 1, 2 and 5 times the powers of ten. */
static void choose_one_two_five(struct axis *axis)
{
    static const int factors[3] = {1, 2, 5};
    const bool is_plain = axis->lo > -3.5 && axis->hi < 4.5;
    for (double k = floor(axis->lo); k <= axis->hi; k++) {
        for (size_t f = 0; f < 3; f++) {
            const double value = k + log10(factors[f]);
            const bool is_inside = value > axis->lo - 1e-6 && value < axis->hi + 1e-6;
            struct axis_tick *tick = is_inside ? add_tick(axis, value) : NULL;
            char mantissa[2] = {(char)('0' + factors[f]), '\0'};
            if (tick && is_plain) {
                write_decimal(tick->text, factors[f] * pow(10, k), k < 0 ? (int)-k : 0);
            } else if (tick) {
                write_power(tick->text, mantissa, (int)k);
            }
        }
    }
}

/* Adds ticks without numbers at 1 to 9 times the powers of ten, to mark the axis as logarithmic. */
static void add_small_digits(struct axis *axis)
{
    const size_t n_numbers = axis->n_ticks;
    for (double k = floor(axis->lo); k <= axis->hi; k++) {
        for (int digit = 1; digit <= 9; digit++) {
            const double value = k + log10(digit);
            bool is_new = value > axis->lo && value < axis->hi;
            for (size_t i = 0; i < n_numbers && is_new; i++) {
                is_new = fabs(axis->ticks[i].value - value) > 1e-6;
            }
            if (is_new) {
                (void)add_tick(axis, value);
            }
        }
    }
}

static void choose(struct axis *axis, double n)
{
    axis->n_ticks = 0;
    if (!axis->is_log) {
        choose_linear(axis, n);
    } else if (axis->hi - axis->lo >= 2) {
        choose_decades(axis, n);
    } else if (axis->hi - axis->lo >= 0.8 && n >= 3) {
        choose_one_two_five(axis);
        add_small_digits(axis);
    } else {
        choose_within_decade(axis, n);
        add_small_digits(axis);
    }
}

/* Whether the numbers do not touch each other. */
static bool has_room(const struct axis *axis, double length, bool is_across,
                     const struct picture_font *font)
{
    double last_end = -HUGE_VAL;
    for (size_t i = 0; i < axis->n_ticks; i++) {
        if (!axis->ticks[i].text[0]) {
            continue;
        }
        const double at = length * axis_tick_share(axis, i);
        const double size = is_across ? picture_text_width(font, axis->ticks[i].text) + font->size
                                      : 1.5 * font->size;
        if (at - size / 2 < last_end) {
            return false;
        }
        last_end = at + size / 2;
    }
    return true;
}

void axis_choose_ticks(struct axis *axis, double length, bool is_across,
                       const struct picture_font *font)
{
    const double most = fmax(1, fmin(10, length / (is_across ? 50 : 30)));
    for (double n = floor(most); n >= 1; n--) {
        choose(axis, n);
        if (has_room(axis, length, is_across, font)) {
            break;
        }
    }
    if (axis_text_width(axis, font) <= 0) { /* a short axis between two round numbers */
        choose(axis, 2 * most + 4);
    }
    bool is_full = false;
    for (size_t i = 0; i < axis->n_ticks && !has_room(axis, length, is_across, font); i++) {
        if (is_full) {
            axis->ticks[i].text[0] = '\0';
        }
        is_full = is_full || axis->ticks[i].text[0];
    }
}

/* Shortest number that represents the value, with at most four digits. */
static void write_end(const struct axis *axis, double at, char out[AXIS_TEXT_MAX])
{
    const double value = axis->is_log ? pow(10, at) : at;
    const double size = fabs(value);
    if (size < SMALLEST) {
        (void)snprintf(out, AXIS_TEXT_MAX, "0");
        return;
    }
    const int exponent = (int)floor(log10(size) + 1e-9);
    const int half = exponent / 2; /* 10^exponent may overflow */
    const double mantissa = value / pow(10, half) / pow(10, exponent - half);
    int decimals = 0;
    while (decimals < 3 &&
           fabs(mantissa * pow(10, decimals) - round(mantissa * pow(10, decimals))) > 1e-6) {
        decimals++;
    }
    const bool is_plain =
        axis->is_log ? axis->lo > -3.5 && axis->hi < 4.5 : exponent >= -3 && exponent < 6;
    const int places = is_plain ? decimals - exponent : decimals;
    write_number(out, value,
                 (struct number_format){places > 0 ? places : 0, is_plain ? 0 : exponent});
}

void axis_number_ends(struct axis *axis, double length, const struct picture_font *font)
{
    struct axis_tick ends[2] = {{.value = axis->lo}, {.value = axis->hi}};
    const double room = 1.5 * font->size / length * (axis->hi - axis->lo);
    const double same = 1e-6 * (axis->hi - axis->lo);
    struct axis_tick inner[AXIS_TICKS_MAX];
    size_t n_inner = 0;
    for (size_t i = 0; i < axis->n_ticks && n_inner < AXIS_TICKS_MAX - 2; i++) {
        struct axis_tick tick = axis->ticks[i];
        const double distance = fmin(tick.value - axis->lo, axis->hi - tick.value);
        tick.text[0] = distance < room ? '\0' : tick.text[0];
        if (distance > same) {
            inner[n_inner++] = tick;
        }
    }
    write_end(axis, axis->lo, ends[0].text);
    write_end(axis, axis->hi, ends[1].text);
    axis->ticks[0] = ends[0];
    memcpy(axis->ticks + 1, inner, n_inner * sizeof *inner);
    axis->ticks[n_inner + 1] = ends[1];
    axis->n_ticks = n_inner + 2;
}

double axis_text_width(const struct axis *axis, const struct picture_font *font)
{
    double widest = 0;
    for (size_t i = 0; i < axis->n_ticks; i++) {
        widest = fmax(widest, picture_text_width(font, axis->ticks[i].text));
    }
    return widest;
}

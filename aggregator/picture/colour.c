#include "picture/colour.h"

#include <math.h>

#define PI 3.14159265358979323846
#define SMALLEST 1e-300 /* half of a smaller value may be 0 */

const struct colour colour_ink = {38, 38, 38};
const struct colour colour_paper = {255, 255, 255};
const struct colour colour_rule = {225, 225, 225};
const struct colour colour_zero = {229, 229, 229};

/* Linear light in [0, 1] to a byte of sRGB (IEC 61966-2-1). */
static uint8_t encode_channel(double light)
{
    const double clamped = light < 0 ? 0 : light > 1 ? 1 : light;
    const double encoded =
        clamped <= 0.0031308 ? 12.92 * clamped : 1.055 * pow(clamped, 1 / 2.4) - 0.055;
    return (uint8_t)lround(255 * encoded);
}

static struct colour from_oklab(double lightness, double a, double b)
{
    const double l = pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
    const double m = pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
    const double s = pow(lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
    return (struct colour){encode_channel(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
                           encode_channel(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
                           encode_channel(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

/* The path at t in [0, 1]. Its chroma is inside sRGB everywhere (the limit is tightest near
 * green-blue, 0.102 at t = 0.44), so no channel is clipped and the steps are even. */
static struct colour heat(double t)
{
    const double lightness = 0.27 + 0.65 * t;
    const double hue = (310 - 202 * t) * PI / 180;
    const double chroma = 0.115 - 0.11 * t + 0.17 * t * t;
    return from_oklab(lightness, chroma * cos(hue), chroma * sin(hue));
}

void colour_fill_palette(enum colour_palette palette, struct colour out[COLOUR_LEVELS])
{
    out[0] = palette == COLOUR_PALETTE_GREY ? (struct colour){0, 0, 0} : colour_zero;
    for (size_t i = 1; i < COLOUR_LEVELS; i++) {
        const double t = (double)(i - 1) / (COLOUR_LEVELS - 2);
        const uint8_t grey = (uint8_t)lround(255 * t);
        out[i] = palette == COLOUR_PALETTE_GREY ? (struct colour){grey, grey, grey} : heat(1 - t);
    }
}

struct colour colour_of_curve(size_t i)
{
    /* The yellow of the published set is too faint for lines on white; grey replaces it. */
    static const struct colour colours[COLOUR_CURVES] = {
        {0, 114, 178}, {213, 94, 0},   {0, 158, 115},   {204, 121, 167},
        {230, 159, 0}, {86, 180, 233}, {110, 110, 110}, {0, 0, 0},
    };
    return colours[i % COLOUR_CURVES];
}

void colour_scale_add(struct colour_scale *scale, const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double value = values[i];
        if (value > 0) {
            scale->min_positive = scale->has_positive ? fmin(scale->min_positive, value) : value;
            scale->has_positive = true;
        }
        scale->greatest = scale->has_value ? fmax(scale->greatest, value) : value;
        scale->has_value = true;
        scale->has_zero = scale->has_zero || value == 0;
        scale->has_negative = scale->has_negative || value < 0;
        scale->lo = fmin(scale->lo, value); /* the range always includes 0 */
        scale->hi = fmax(scale->hi, value);
    }
}

/* Rounds outward to `digits` significant digits; a value with fewer digits is unchanged. */
static double round_end(double value, int digits, bool is_up)
{
    const double unit = pow(10, floor(log10(value)) - digits + 1);
    const double n = value / unit;
    if (fabs(n - round(n)) <= 1e-9 * n) {
        return value;
    }
    return (is_up ? ceil(n) : floor(n)) * unit;
}

/* Rounds outward to the fewest digits that make a logarithmic scale at most a quarter longer. */
static void round_ends(struct colour_scale *scale)
{
    const double length = log10(scale->hi) - log10(scale->lo);
    for (int digits = 1; digits <= 3; digits++) {
        const double lo = round_end(scale->lo, digits, false);
        const double hi = round_end(scale->hi, digits, true);
        if (lo >= SMALLEST && log10(hi) - log10(lo) <= 1.25 * length) {
            scale->lo = lo;
            scale->hi = hi;
            return;
        }
    }
}

void colour_scale_settle(struct colour_scale *scale, bool is_log)
{
    scale->is_log = is_log;
    scale->has_zero = scale->has_zero && !scale->has_negative;
    if (is_log) {
        scale->lo = scale->has_positive ? fmax(scale->min_positive, SMALLEST) : 0.1;
        scale->hi = scale->has_positive ? fmax(scale->hi, scale->lo) : 1;
        if (!(scale->hi > scale->lo * (1 + 1e-9))) { /* a single value */
            scale->lo /= 2;
            scale->hi *= 2;
        }
        round_ends(scale);
        return;
    }
    if (!(scale->hi - scale->lo >= SMALLEST)) {
        scale->hi = 1; /* only zeros, as far as the bar can show */
    }
}

void colour_scale_fix(struct colour_scale *scale, bool is_log, double lo, double hi)
{
    scale->is_log = is_log;
    scale->is_fixed = true;
    scale->has_zero = scale->has_zero && !scale->has_negative;
    scale->is_cut_below =
        scale->has_negative ? scale->lo < lo : scale->has_positive && scale->min_positive < lo;
    scale->is_cut_above = scale->has_value && scale->greatest > hi;
    scale->lo = lo;
    scale->hi = hi;
}

uint8_t colour_scale_level(const struct colour_scale *scale, double value)
{
    if (value == 0 && scale->has_zero) {
        return 0;
    }
    const double t = scale->is_log
                         ? (log10(value) - log10(scale->lo)) / (log10(scale->hi) - log10(scale->lo))
                         : (value - scale->lo) / (scale->hi - scale->lo);
    const double clamped = t > 0 ? fmin(t, 1) : 0; /* NaN becomes 0 */
    return (uint8_t)(1 + lround(clamped * (COLOUR_LEVELS - 2)));
}

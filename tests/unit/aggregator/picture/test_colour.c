#include "picture/colour.h"

#include <criterion/criterion.h>
#include <math.h>

/* sRGB to OKLab (B. Ottosson 2020), the inverse of the palette's construction. */
static void to_oklab(struct colour colour, double lab[3])
{
    const uint8_t channels[3] = {colour.red, colour.green, colour.blue};
    double c[3];
    for (size_t i = 0; i < 3; i++) {
        const double v = channels[i] / 255.0;
        c[i] = v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
    }
    const double l = cbrt(0.4122214708 * c[0] + 0.5363325363 * c[1] + 0.0514459929 * c[2]);
    const double m = cbrt(0.2119034982 * c[0] + 0.6806995451 * c[1] + 0.1073969566 * c[2]);
    const double s = cbrt(0.0883024619 * c[0] + 0.2817188376 * c[1] + 0.6299787005 * c[2]);
    lab[0] = 0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s;
    lab[1] = 1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s;
    lab[2] = 0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s;
}

Test(colour, steps_of_the_heat_palette_look_equal)
{
    struct colour palette[COLOUR_LEVELS];
    double smallest = HUGE_VAL, largest = 0, last[3];
    colour_fill_palette(COLOUR_PALETTE_HEAT, palette);
    to_oklab(palette[1], last);
    for (size_t i = 16; i < COLOUR_LEVELS; i += 15) { /* steps wide enough for 8 bits per channel */
        double lab[3];
        to_oklab(palette[i], lab);
        const double step =
            sqrt(pow(lab[0] - last[0], 2) + pow(lab[1] - last[1], 2) + pow(lab[2] - last[2], 2));
        cr_assert_float_eq(last[0] - lab[0], 0.65 * 15 / 254, 0.006, "lightness at %zu", i);
        smallest = fmin(smallest, step);
        largest = fmax(largest, step);
        for (size_t j = 0; j < 3; j++) {
            last[j] = lab[j];
        }
    }
    cr_assert_lt(largest, 1.35 * smallest, "%g to %g", smallest, largest);
}

Test(colour, zero_is_not_in_the_palette)
{
    struct colour palette[COLOUR_LEVELS];
    double zero[3];
    colour_fill_palette(COLOUR_PALETTE_HEAT, palette);
    to_oklab(palette[0], zero);
    for (size_t i = 1; i < COLOUR_LEVELS; i++) {
        double lab[3];
        to_oklab(palette[i], lab);
        cr_assert_gt(hypot(lab[1] - zero[1], lab[2] - zero[2]) + fabs(lab[0] - zero[0]), 0.1);
    }
}

Test(colour, curves_have_different_colours)
{
    for (size_t i = 0; i < COLOUR_CURVES; i++) {
        for (size_t j = 0; j < i; j++) {
            double a[3], b[3];
            to_oklab(colour_of_curve(i), a);
            to_oklab(colour_of_curve(j), b);
            cr_assert_gt(fabs(a[0] - b[0]) + hypot(a[1] - b[1], a[2] - b[2]), 0.1);
        }
    }
}

static struct colour_scale scale_of(const double *values, size_t n, bool is_log)
{
    struct colour_scale scale = {0};
    colour_scale_add(&scale, values, n);
    colour_scale_settle(&scale, is_log);
    return scale;
}

Test(colour, weights_are_measured_from_zero)
{
    const double values[] = {0, 2, 4};
    const struct colour_scale scale = scale_of(values, 3, false);
    cr_assert(scale.lo == 0 && scale.hi == 4 && scale.has_zero);
    cr_assert_eq(colour_scale_level(&scale, 0), 0);
    cr_assert_eq(colour_scale_level(&scale, 1e-9), 1);
    cr_assert_eq(colour_scale_level(&scale, 2), 128);
    cr_assert_eq(colour_scale_level(&scale, 4), 255);
}

Test(colour, with_negative_values_zero_is_an_ordinary_value)
{
    const double values[] = {-1, 0, 1};
    const struct colour_scale scale = scale_of(values, 3, false);
    cr_assert(!scale.has_zero && scale.lo == -1 && scale.hi == 1);
    cr_assert_eq(colour_scale_level(&scale, 0), 128);
}

Test(colour, logarithmic_scales_begin_at_the_smallest_value_above_zero)
{
    const double values[] = {0, 0.01, 1};
    const struct colour_scale scale = scale_of(values, 3, true);
    cr_assert(scale.lo == 0.01 && scale.hi == 1);
    cr_assert_eq(colour_scale_level(&scale, 0.1), 128);
    cr_assert_eq(colour_scale_level(&scale, 0), 0);
}

Test(colour, ends_of_a_logarithmic_scale_are_round_and_hardly_wider)
{
    static const double wide[] = {0.00043, 0.067}, narrow[] = {1.941, 2.069};
    struct colour_scale scale = scale_of(wide, 2, true);
    cr_assert_float_eq(scale.lo, 0.0004, 1e-12);
    cr_assert_float_eq(scale.hi, 0.07, 1e-12);
    scale = scale_of(narrow, 2, true); /* 1 to 3 would leave too few colours for the values */
    cr_assert_float_eq(scale.lo, 1.94, 1e-12);
    cr_assert_float_eq(scale.hi, 2.07, 1e-12);
}

Test(colour, a_fixed_scale_keeps_its_ends_and_marks_values_beyond)
{
    static const double values[] = {0, 2, 40};
    struct colour_scale scale = {0};
    colour_scale_add(&scale, values, 3);
    colour_scale_fix(&scale, true, 1, 100);
    cr_assert(scale.lo == 1 && scale.hi == 100 && scale.has_zero);
    cr_assert(!scale.is_cut_below && !scale.is_cut_above, "zero has a colour of its own");
    cr_assert_eq(colour_scale_level(&scale, 10), 128);
    colour_scale_fix(&scale, false, 3, 30);
    cr_assert(scale.is_cut_below && scale.is_cut_above);
    cr_assert_eq(colour_scale_level(&scale, 2), 1);
    cr_assert_eq(colour_scale_level(&scale, 40), 255);
    cr_assert_eq(colour_scale_level(&scale, 0), 0);
}

Test(colour, a_fixed_scale_may_lie_below_zero)
{
    static const double values[] = {-4, -2};
    struct colour_scale scale = {0};
    colour_scale_add(&scale, values, 2);
    colour_scale_fix(&scale, false, -5, -1);
    cr_assert(!scale.is_cut_below && !scale.is_cut_above);
    colour_scale_fix(&scale, false, -3, -2.5);
    cr_assert(scale.is_cut_below && scale.is_cut_above);
}

Test(colour, single_and_extreme_values_have_a_scale)
{
    static const double values[] = {0, 1, -1, 1e-320, 1e300, -1e300, 1e-300};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        for (int is_log = 0; is_log < 2; is_log++) {
            const struct colour_scale scale = scale_of(values + i, 1, is_log);
            cr_assert(scale.lo < scale.hi && isfinite(scale.hi - scale.lo), "%g", values[i]);
            cr_assert(scale.lo > 0 || !is_log);
        }
    }
}

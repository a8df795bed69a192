/* The public candidates of dpot central transport-map: potentials on a grid, from a file (N, cells)
 * or from a family drawn with a public seed,
 *
 *     f(x) = |x|^2 / 2 + alpha exp(-|x - u|^2 / (2 s^2)) - alpha exp(-|x - v|^2 / (2 s^2)),
 *
 * with u and v normal around the middle of the box, of standard deviation `spread` in every
 * coordinate: maps attracted to u and repelled from v (Lalanne et al. 2025, section 6.2). The first
 * of the family is the identity map, |x|^2 / 2. */
#ifndef DPOT_TOOL_CENTRAL_POTENTIALS_H
#define DPOT_TOOL_CENTRAL_POTENTIALS_H

#include "central/semidual.h"
#include "files/array.h"
#include "tool/shared/command.h"

#define POTENTIALS_OPTIONS                                                                         \
    {"candidates", "F", "public potentials (N, cells), their values at the cell centres"},         \
        {"family", "N 1..1000000", "instead: draw N potentials that attract and repel"},           \
        {"family-seed", "N 0..", "public seed of the family (default 1)"},                         \
        {"bump-height", "h (0,1e6]", "height of its bumps (default 0.005)"},                       \
        {"bump-width", "s (0,1e6]", "width of its bumps (default 0.1)"},                           \
    {                                                                                              \
        "bump-spread", "s (0,1e6]", "standard deviation of their centres (default 0.3162)"         \
    }

/* Validates the command line. */
DPOT_WARN_UNUSED dpot_status potentials_check(struct run *run);

DPOT_WARN_UNUSED dpot_status potentials_load(struct run *run, const struct semidual_grid *grid,
                                             struct array *potentials);

#endif

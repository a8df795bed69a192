/* What GET /readyz and the metrics say of seal keys. */
#include "unit/aggregator/http/rig.h"

#include <criterion/criterion.h>
#include <string.h>

static void set_up(void)
{
    http_set_up();
    cr_assert_eq(tally_new(rig.store, &rig.ingest.tally, NULL), DPOT_OK);
}

static void tear_down(void)
{
    struct tally *tally = rig.ingest.tally;
    http_tear_down();
    tally_free(tally);
}

TestSuite(http_ready, .init = set_up, .fini = tear_down);

static const char no_reason[] = "the server takes no reports now: its log says why\n";

static void expect_metric(const char *line)
{
    cr_assert_eq(request("GET", "/metrics", TOKEN, "", 0), 200);
    cr_assert_not_null(strstr(text, line), "%s", text);
}

Test(http_ready, the_server_is_ready_while_a_seal_key_is_valid)
{
    struct dpot_seal_key *key = &rig.secret.key;
    key->not_before_ms = rig.clock.now_ms + 1;
    cr_assert_eq(get("/readyz"), 503);
    cr_assert_str_eq(text, no_reason);
    expect_metric("\ndpotd_seal_keys_valid 0\n");
    rig.clock.now_ms++;
    cr_assert_eq(get("/readyz"), 200);
    expect_metric("\ndpotd_seal_keys_valid 1\n");
    key->not_after_ms = rig.clock.now_ms;
    cr_assert_eq(get("/readyz"), 503);
    cr_assert_str_eq(text, no_reason);
}

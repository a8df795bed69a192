/* What a flush reports about how reports ended. */
#include "model/report.h"
#include "unit/client/tool/tool.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(tool_ends, .init = tool_set_up, .fini = tool_tear_down);

Test(tool_ends, a_report_to_a_closed_revision_is_told_and_none_is_charged_after)
{
    report_once();
    serve_posts_with(409, 0);
    report_once(); /* the settings have the new address */
    cr_assert_eq(RUN(NULL, "flush", "--dir", dir, "--json"), 7, "%s", err);
    assert_json_text("outcome", "closed");
    cr_assert_eq(json_number_of("sent"), 1);
    cr_assert_eq(json_number_of("dropped_closed"), 1);
    cr_assert_eq(json_number_of("accepted"), 0);
    cr_assert_not_null(strstr(err, "dpot-device enroll again"), "%s", err);
    cr_assert_eq(RUN("3\n", "report", "--dir", dir, "--points", "-", "--json"), 7);
    assert_json_text("status", "DPOT_ERR_CLOSED");
    cr_assert_not_null(strstr(err, "dpot-device enroll again"), "%s", err);
    cr_assert_eq(RUN(NULL, "flush", "--dir", dir, "--json"), 0, "told once");
    cr_assert_eq(RUN(NULL, "status", "--dir", dir), 0);
    cr_assert_not_null(strstr(out, "dropped_closed: 1"));
}

Test(tool_ends, a_flush_tells_people_how_reports_ended)
{
    report_once();
    cr_assert_eq(RUN(NULL, "flush", "--dir", dir), 0, "%s", err);
    cr_assert_not_null(strstr(out, "1 answered, 0 pending"), "%s", out);
    cr_assert_not_null(strstr(out, "reports accepted: 1"), "%s", out);
}

Test(tool_ends, a_report_that_the_server_rejects_is_bad_input_with_its_reason)
{
    serve_posts_with(202, DPOT_REPORT_REJECTED_RANGE);
    report_once();
    cr_assert_eq(RUN(NULL, "flush", "--dir", dir, "--json"), 3, "%s", err);
    assert_json_text("outcome", "rejected");
    cr_assert_eq(json_number_of("rejected_range"), 1);
}

/* A wait may end during an exchange, which then is a network failure. */
static void flush_until(const char *status)
{
    int code = 0;
    for (size_t i = 0; i < 20 && (i == 0 || !strstr(out, status)); i++) {
        code = RUN(NULL, "flush", "--dir", dir, "--wait-seconds", "3", "--json");
    }
    cr_assert_eq(code, 6, "%s%s", out, err);
}

Test(tool_ends, a_receipt_that_is_too_long_is_the_servers_failure)
{
    serve_posts_with(202, UINT8_MAX);
    report_once();
    flush_until("DPOT_ERR_SERVER");
    assert_json_text("outcome", "failed");
    assert_json_text("status", "DPOT_ERR_SERVER");
    cr_assert_not_null(strstr(err, "longer than 65536 bytes"), "%s", err);
    cr_assert_eq(json_number_of("pending"), 1);
}

/* Field tables: reading, refusals, writing. */
#include "json/fields.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum shape { ROUND = 1, SQUARE = 2 };
enum { LARGE = 1, SMALL = 2 };

struct plate {
    double weight, depth, rim;
    uint32_t n;
    int64_t serial;
    bool is_flat;
    enum shape shape;
    char name[8];
    const char *maker;
    const json_t *marks;
    size_t kept;
};

static dpot_status read_marks(const json_t *value, const char *name, void *member,
                              struct dpot_error *error)
{
    *(const json_t **)member = value;
    return json_is_array(value) ? DPOT_OK
                                : dpot_error_set(error, DPOT_ERR_SHAPE, "%s: give a list", name);
}

static const struct json_word shapes[] = {{"round", ROUND}, {"square", SQUARE}, {NULL, 0}};
static const struct json_field edge_fields[] = {
    FIELD_NUMBER("rim", struct plate, rim, 0, 1, .otherwise = 0.25),
    {.key = NULL},
};

/* The first rows have kinds that can be written. */
#define N_WRITTEN 7
static const struct json_field fields[] = {
    FIELD_NUMBER("weight", struct plate, weight, 0, 20, FIELD_REQUIRED("say how heavy")),
    FIELD_NUMBER("depth", struct plate, depth, 0, INFINITY, .is_above = true, .otherwise = 2.5),
    FIELD_INTEGER("n", struct plate, n, 1, UINT32_MAX, .otherwise = 7),
    FIELD_INTEGER("serial", struct plate, serial, 0, INT64_MAX, .otherwise = -1, .or_null = true),
    FIELD_BOOL("is_flat", struct plate, is_flat, .otherwise = true),
    FIELD_WORD("shape", struct plate, shape, shapes, .otherwise = SQUARE),
    FIELD_CHARS("name", struct plate, name, .remedy = NULL),
    FIELD_TEXT("maker", struct plate, maker, .remedy = NULL),
    FIELD_OTHER("marks", struct plate, marks, read_marks, .remedy = NULL),
    FIELD_SECTION("edge", edge_fields, NULL),
    FIELD_INTEGER("kept", struct plate, kept, 0, 9, .keeps = true, .only = LARGE,
                  .goes_with = "large plates"),
    {.key = "gone", .kind = JSON_KIND_REFUSED, .remedy = "was removed: delete the key"},
    {.key = NULL},
};

/* The object is valid until the next call. */
static dpot_status read(const char *text, const struct json_case *which, struct plate *plate,
                        struct dpot_error *error)
{
    static json_t *object;
    json_decref(object);
    object = json_loads(text, 0, NULL);
    cr_assert_not_null(object, "%s", text);
    *plate = (struct plate){.kept = 4};
    return json_read_fields(object, "plate", fields, which, plate, error);
}

Test(json_fields, missing_keys_get_their_defaults_and_given_ones_reach_their_bounds)
{
    struct plate p;
    cr_assert_eq(read("{\"weight\":3}", NULL, &p, NULL), DPOT_OK);
    cr_assert(p.weight == 3 && p.depth == 2.5 && p.n == 7 && p.serial == -1 && p.is_flat);
    cr_assert(p.shape == SQUARE && !p.name[0] && !p.maker && p.rim == 0.25 && p.kept == 4);
    cr_assert_eq(read("{\"weight\":20,\"depth\":1e-300,\"n\":4294967295,\"serial\":"
                      "9223372036854775807,\"is_flat\":false,\"shape\":\"round\",\"name\":"
                      "\"1234567\",\"maker\":\"me\",\"marks\":[1],\"edge\":{\"rim\":1},\"kept\":0}",
                      NULL, &p, NULL),
                 DPOT_OK);
    cr_assert(p.weight == 20 && p.depth == 1e-300 && p.n == UINT32_MAX && p.serial == INT64_MAX);
    cr_assert(!p.is_flat && p.shape == ROUND && p.rim == 1 && p.kept == 0);
    cr_assert(strcmp(p.name, "1234567") == 0 && strcmp(p.maker, "me") == 0);
    cr_assert_eq(json_array_size(p.marks), 1);
}

#define MORE(text) "{\"weight\":1," text "}"

Test(json_fields, refusals_name_key_value_and_remedy)
{
    static const struct {
        const char *text;
        dpot_status status;
        const char *sentence;
    } rows[] = {
        {"[]", DPOT_ERR_MALFORMED, "plate must be a JSON object"},
        {"{}", DPOT_ERR_MALFORMED, "plate.weight is missing: say how heavy"},
        {MORE("\"dept\":1"), DPOT_ERR_MALFORMED,
         "the key plate.dept is not known (did you mean depth?): check its spelling or remove it"},
        {"{\"weight\":\"a\"}", DPOT_ERR_MALFORMED, "plate.weight is \"a\": say how heavy"},
        {"{\"weight\":21}", DPOT_ERR_RANGE, "plate.weight is 21: give a number from 0 to 20"},
        {MORE("\"depth\":0"), DPOT_ERR_RANGE, "plate.depth is 0: give a number above 0"},
        {MORE("\"kept\":10"), DPOT_ERR_RANGE, "plate.kept is 10: give an integer from 0 to 9"},
        {MORE("\"kept\":2.5"), DPOT_ERR_MALFORMED,
         "plate.kept is 2.5: give an integer from 0 to 9"},
        {MORE("\"kept\":null"), DPOT_ERR_MALFORMED,
         "plate.kept is null: give an integer from 0 to 9"},
        {MORE("\"is_flat\":0"), DPOT_ERR_MALFORMED, "plate.is_flat is 0: give true or false"},
        {MORE("\"shape\":\"oval\""), DPOT_ERR_RANGE,
         "plate.shape is \"oval\": choose round or square"},
        {MORE("\"shape\":\"suqare\""), DPOT_ERR_RANGE,
         "plate.shape is \"suqare\": choose round or square (did you mean square?)"},
        {MORE("\"shape\":{}"), DPOT_ERR_MALFORMED,
         "plate.shape is an object: choose round or square"},
        {MORE("\"name\":\"12345678\""), DPOT_ERR_RANGE, "plate.name has 8 bytes: use at most 7"},
        {MORE("\"maker\":[]"), DPOT_ERR_MALFORMED,
         "plate.maker is an array: give a text in quotes"},
        {MORE("\"marks\":1"), DPOT_ERR_SHAPE, "plate.marks: give a list"},
        {MORE("\"gone\":1"), DPOT_ERR_MALFORMED, "plate.gone was removed: delete the key"},
        {MORE("\"edge\":[]"), DPOT_ERR_MALFORMED, "plate.edge is an array: give an object"},
        {MORE("\"edge\":{\"rim\":2}"), DPOT_ERR_RANGE,
         "plate.edge.rim is 2: give a number from 0 to 1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct plate plate;
        struct dpot_error error = {""};
        cr_assert_eq(read(rows[i].text, NULL, &plate, &error), rows[i].status, "%s", rows[i].text);
        cr_assert_str_eq(error.text, rows[i].sentence);
    }
}

Test(json_fields, a_key_of_another_case_is_refused_with_its_case)
{
    const struct json_case large = {LARGE, "a large plate"}, small = {SMALL, "a small plate"};
    struct plate plate;
    struct dpot_error error = {""};
    cr_assert_eq(read(MORE("\"kept\":8"), &large, &plate, &error), DPOT_OK);
    cr_assert_eq(plate.kept, 8);
    cr_assert_eq(read(MORE("\"kept\":8"), &small, &plate, &error), DPOT_ERR_MALFORMED);
    cr_assert_str_eq(error.text,
                     "plate.kept goes with large plates: a small plate does not use it, remove it");
}

Test(json_fields, written_fields_are_read_back)
{
    const struct plate p = {
        .depth = 0.1, .n = UINT32_MAX, .serial = -1, .shape = ROUND, .name = "x"};
    struct json_field rows[N_WRITTEN + 1] = {{.key = NULL}};
    struct plate again = {.n = 0};
    memcpy(rows, fields, N_WRITTEN * sizeof *rows);
    json_t *object = json_write_fields(rows, NULL, &p);
    char *text = json_dumps(object, JSON_COMPACT);
    cr_assert_str_eq(text, "{\"weight\":0.0,\"depth\":0.10000000000000001,\"n\":4294967295,"
                           "\"serial\":null,\"is_flat\":false,\"shape\":\"round\",\"name\":\"x\"}");
    cr_assert_eq(json_read_fields(object, "", rows, NULL, &again, NULL), DPOT_OK);
    cr_assert(again.depth == 0.1 && again.n == UINT32_MAX && again.serial == -1);
    cr_assert(!again.is_flat && again.shape == ROUND && strcmp(again.name, "x") == 0);
    free(text);
    json_decref(object);
}

Test(json_fields, arrays_have_their_length_and_their_range)
{
    double out[2];
    uint32_t sizes[2];
    struct dpot_error error = {""};
    json_t *list = json_loads("[1, 2.0]", 0, NULL);
    cr_assert_eq(json_read_numbers(list, "a.lo", 0, out, 2, &error), DPOT_OK);
    cr_assert_eq(json_read_sizes(list, "a.n", 2, sizes, 2, &error), DPOT_OK);
    cr_assert(out[0] == 1 && out[1] == 2 && sizes[0] == 1 && sizes[1] == 2);
    cr_assert_eq(json_read_numbers(list, "a.lo", 0, out, 3, &error), DPOT_ERR_SHAPE);
    cr_assert_str_eq(error.text, "a.lo has 2 entries: give 3 numbers");
    cr_assert_eq(json_read_numbers(NULL, "a.lo", 0, out, 2, &error), DPOT_ERR_MALFORMED);
    cr_assert_str_eq(error.text, "a.lo must be an array of 2 numbers");
    cr_assert_eq(json_read_numbers(list, "a.lo", 1.5, out, 2, &error), DPOT_ERR_RANGE);
    cr_assert_str_eq(error.text, "entry 0 of a.lo is 1: give a number of at least 1.5");
    (void)json_array_set_new(list, 1, json_real(2.5));
    cr_assert_eq(json_read_sizes(list, "a.n", 9, sizes, 2, &error), DPOT_ERR_RANGE);
    cr_assert_str_eq(error.text, "entry 1 of a.n is 2.5: give an integer from 1 to 9");
    json_decref(list);
}

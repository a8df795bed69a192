/* The generic graph and its bytes, without a network. */
#include "proto/wire_onnx.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const int64_t ints[3] = {-1, 0, INT64_MAX};
static const float floats[6] = {1, -0.0F, 3e38F, 1e-45F, 0.1F, -2};
static const struct dpot_onnx_attribute attributes[4] = {
    {.name = "f", .type = DPOT_ONNX_FLOAT, .f = 0.25F},
    {.name = "i", .type = DPOT_ONNX_INT, .i = -7},
    {.name = "s", .type = DPOT_ONNX_TEXT, .text = "words"},
    {.name = "v", .type = DPOT_ONNX_INTS, .ints = ints, .n_ints = 3},
};
static const struct dpot_onnx_node nodes[2] = {
    {"Gemm", "one", {"z", "w"}, 2, {"one"}, 1, attributes, 4},
    {"Relu", "two", {"one"}, 1, {"x"}, 1, NULL, 0},
};
static const struct dpot_onnx_tensor tensors[2] = {
    {"w", {2, 3}, 2, 6, floats, NULL},
    {"shape", {3}, 1, 3, NULL, ints},
};
static const struct dpot_onnx_end input = {"z", {0, 2}, 2}, output = {"x", {0, 3}, 2};
static const struct dpot_onnx_pair pairs[1] = {{"key", "value"}};

static struct dpot_onnx_graph sample(void)
{
    return (struct dpot_onnx_graph){"p", "1",    "g",     "text", nodes, 2,     tensors,
                                    2,   &input, &output, 1,      1,     pairs, 1};
}

static void check_same_node(const struct dpot_onnx_node *a, const struct dpot_onnx_node *b)
{
    cr_assert_str_eq(a->op, b->op);
    cr_assert_str_eq(a->name, b->name);
    cr_assert_eq(a->n_inputs, b->n_inputs);
    cr_assert_str_eq(a->inputs[a->n_inputs - 1], b->inputs[a->n_inputs - 1]);
    cr_assert_str_eq(a->outputs[0], b->outputs[0]);
    cr_assert_eq(a->n_attributes, b->n_attributes);
}

Test(wire_onnx, a_graph_is_read_back_unchanged)
{
    const struct dpot_onnx_graph graph = sample();
    struct dpot_onnx_graph again;
    struct dpot_error error = {""};
    struct dpot_arena arena;
    struct dpot_buf bytes;
    dpot_buf_init(&bytes, DPOT_ONNX_BYTES_MAX, NULL);
    cr_assert_eq(dpot_wire_onnx_encode(&graph, &bytes, &error), DPOT_OK);
    dpot_arena_init(&arena, DPOT_ONNX_MEMORY(bytes.len), NULL);
    cr_assert_eq(dpot_wire_onnx_decode(bytes.data, bytes.len, &arena, &again, &error), DPOT_OK,
                 "%s", error.text);
    cr_assert_eq(again.n_nodes, 2);
    check_same_node(&again.nodes[0], &nodes[0]);
    check_same_node(&again.nodes[1], &nodes[1]);
    cr_assert_eq(again.nodes[0].attributes[0].f, 0.25F);
    cr_assert_eq(again.nodes[0].attributes[1].i, -7);
    cr_assert_str_eq(again.nodes[0].attributes[2].text, "words");
    cr_assert_arr_eq(again.nodes[0].attributes[3].ints, ints, sizeof ints);
    cr_assert_arr_eq(again.tensors[0].floats, floats, sizeof floats);
    cr_assert_arr_eq(again.tensors[1].ints, ints, sizeof ints);
    cr_assert_eq(again.outputs[0].dims[1], 3);
    cr_assert_eq(again.outputs[0].dims[0], 0);
    cr_assert_str_eq(again.pairs[0].value, "value");
    dpot_arena_release(&arena);
    dpot_buf_release(&bytes);
}

Test(wire_onnx, more_than_the_limits_is_not_written)
{
    struct dpot_onnx_graph graph = sample();
    struct dpot_error error = {""};
    struct dpot_buf bytes;
    dpot_buf_init(&bytes, DPOT_ONNX_BYTES_MAX, NULL);
    graph.n_pairs = DPOT_ONNX_PAIRS_MAX + 1;
    cr_assert_eq(dpot_wire_onnx_encode(&graph, &bytes, &error), DPOT_ERR_TOO_LARGE);
    cr_assert_not_null(strstr(error.text, "65 pairs"));
    graph = sample();
    graph.n_tensors = DPOT_ONNX_TENSORS_MAX + 1;
    cr_assert_eq(dpot_wire_onnx_encode(&graph, &bytes, &error), DPOT_ERR_TOO_LARGE);
    bytes.max = 10;
    graph = sample();
    cr_assert_eq(dpot_wire_onnx_encode(&graph, &bytes, &error), DPOT_ERR_TOO_LARGE);
    cr_assert_eq(bytes.len, 0);
}

static dpot_status decode(const void *data, size_t len, struct dpot_error *error)
{
    struct dpot_arena arena;
    struct dpot_onnx_graph graph;
    dpot_arena_init(&arena, DPOT_ONNX_MEMORY(len), NULL);
    const dpot_status status = dpot_wire_onnx_decode(data, len, &arena, &graph, error);
    dpot_arena_release(&arena);
    return status;
}

Test(wire_onnx, a_shape_that_overflows_is_refused)
{
    struct dpot_onnx_tensor tensor = {"w", {INT64_C(1) << 28, INT64_C(1) << 28, 16}, 3, 0, floats,
                                      NULL};
    struct dpot_onnx_graph graph = sample();
    struct dpot_error error = {""};
    struct dpot_buf bytes;
    graph.tensors = &tensor;
    graph.n_tensors = 1;
    dpot_buf_init(&bytes, DPOT_ONNX_BYTES_MAX, NULL);
    for (size_t i = 0; i < 4; i++) { /* 2^60; then a zero, a negative and an odd product */
        static const int64_t lasts[4] = {16, 0, -1, 3};
        tensor.dims[2] = lasts[i];
        dpot_buf_reset(&bytes);
        cr_assert_eq(dpot_wire_onnx_encode(&graph, &bytes, &error), DPOT_OK);
        cr_assert_eq(decode(bytes.data, bytes.len, &error), DPOT_ERR_MALFORMED);
    }
    dpot_buf_release(&bytes);
}

/* Graphs nested in attributes, encoded by hand as in a hostile file. */
Test(wire_onnx, a_graph_inside_an_attribute_is_refused_at_any_depth)
{
    enum { DEPTH = 40000, HEAD = 32 };
    uint8_t *data = malloc(DEPTH * (size_t)HEAD);
    size_t at = DEPTH * (size_t)HEAD, len = 0;
    struct dpot_error error = {""};
    cr_assert_not_null(data);
    /* From the innermost: model.graph = 7, graph.node = 1, node.attribute = 5, attribute.g = 6. */
    for (size_t level = 0; level < DEPTH; level++) {
        static const uint8_t tags[3] = {0x32, 0x2a, 0x0a};
        for (size_t t = 0; t < 3; t++) {
            for (size_t k = 5; k > 0; k--) { /* length as a varint of five bytes */
                at--;
                data[at] = (uint8_t)((len >> (7 * (k - 1)) & 0x7f) | (k < 5 ? 0x80u : 0));
            }
            at--;
            data[at] = tags[t];
            len += 6;
        }
    }
    uint8_t head[6] = {0x3a};
    for (size_t k = 0; k < 5; k++) {
        head[1 + k] = (uint8_t)((len >> (7 * k) & 0x7f) | (k < 4 ? 0x80u : 0));
    }
    memcpy(data + at - 6, head, sizeof head);
    cr_assert_eq(decode(data + at - 6, len + 6, &error), DPOT_ERR_VERSION, "%s", error.text);
    cr_assert_not_null(strstr(error.text, "AttributeProto has field 6"), "%s", error.text);
    free(data);
}

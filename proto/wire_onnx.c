#include "proto/wire_onnx.h"

#include "proto/wire_onnx_message.h"

#include "onnx.pb-c.h"

#include <string.h>

/* ---- encoding: the graph as messages in an arena ---- */

void *dpot_onnx_take(struct dpot_onnx_builder *b, size_t count, size_t size)
{
    void *memory = dpot_arena_alloc(b->arena, count > 0 ? count * size : 1);
    b->is_full = b->is_full || !memory;
    return memory;
}

/* n messages of a type, as the list of pointers that protobuf-c needs; NULL if n is 0 or out of
 * memory. */
static void *take_messages(struct dpot_onnx_builder *b, size_t n,
                           const ProtobufCMessageDescriptor *type)
{
    char *list = n > 0 ? dpot_onnx_take(b, n, sizeof(void *)) : NULL;
    for (size_t i = 0; i < n && list; i++) {
        ProtobufCMessage *message = dpot_onnx_take(b, 1, type->sizeof_message);
        if (!message) {
            return NULL;
        }
        protobuf_c_message_init(type, message);
        memcpy(list + i * sizeof message, &message, sizeof message);
    }
    return list;
}

/* protobuf-c has char *, but does not write to it. */
static char *text(const char *s)
{
    return (char *)(s ? s : "");
}

static char **take_names(struct dpot_onnx_builder *b, const char *const *names, size_t n)
{
    char **list = n > 0 ? dpot_onnx_take(b, n, sizeof *list) : NULL;
    for (size_t i = 0; i < n && list; i++) {
        list[i] = text(names[i]);
    }
    return list;
}

static int64_t *take_ints(struct dpot_onnx_builder *b, const int64_t *ints, size_t n)
{
    int64_t *copy = n > 0 ? dpot_onnx_take(b, n, sizeof *copy) : NULL;
    if (copy) {
        memcpy(copy, ints, n * sizeof *copy);
    }
    return copy;
}

static void build_attribute(struct dpot_onnx_builder *b,
                            const struct dpot_onnx_attribute *attribute, Onnx__AttributeProto *m)
{
    m->name = text(attribute->name);
    m->has_type = true;
    m->type = (Onnx__AttributeProto__AttributeType)attribute->type;
    switch (attribute->type) {
    case DPOT_ONNX_FLOAT:
        m->has_f = true;
        m->f = attribute->f;
        break;
    case DPOT_ONNX_INT:
        m->has_i = true;
        m->i = attribute->i;
        break;
    case DPOT_ONNX_TEXT:
        m->has_s = true;
        m->s.data = (uint8_t *)text(attribute->text);
        m->s.len = strlen(text(attribute->text));
        break;
    case DPOT_ONNX_INTS:
        m->ints = take_ints(b, attribute->ints, attribute->n_ints);
        m->n_ints = m->ints ? attribute->n_ints : 0;
        break;
    }
}

static void build_node(struct dpot_onnx_builder *b, const struct dpot_onnx_node *node,
                       Onnx__NodeProto *m)
{
    m->op_type = text(node->op);
    m->name = text(node->name);
    m->input = take_names(b, node->inputs, node->n_inputs);
    m->n_input = m->input ? node->n_inputs : 0;
    m->output = take_names(b, node->outputs, node->n_outputs);
    m->n_output = m->output ? node->n_outputs : 0;
    m->attribute = take_messages(b, node->n_attributes, &onnx__attribute_proto__descriptor);
    for (size_t i = 0; i < node->n_attributes && m->attribute; i++) {
        build_attribute(b, &node->attributes[i], m->attribute[i]);
        m->n_attribute = i + 1;
    }
}

static void store_values(const struct dpot_onnx_tensor *tensor, uint8_t *raw)
{
    for (size_t i = 0; i < tensor->n_values; i++) {
        if (tensor->floats) {
            uint32_t bits = 0;
            memcpy(&bits, &tensor->floats[i], sizeof bits);
            dpot_store_u32(raw + 4 * i, bits);
        } else {
            dpot_store_u64(raw + 8 * i, (uint64_t)tensor->ints[i]);
        }
    }
}

static void build_tensor(struct dpot_onnx_builder *b, const struct dpot_onnx_tensor *tensor,
                         Onnx__TensorProto *m)
{
    const size_t size = tensor->floats ? 4 : 8;
    m->name = text(tensor->name);
    m->has_data_type = true;
    m->data_type = tensor->floats ? ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT
                                  : ONNX__TENSOR_PROTO__DATA_TYPE__INT64;
    m->dims = take_ints(b, tensor->dims, tensor->n_dims);
    m->n_dims = m->dims ? tensor->n_dims : 0;
    m->has_raw_data = true;
    m->raw_data.data = dpot_onnx_take(b, tensor->n_values, size);
    if (m->raw_data.data) {
        m->raw_data.len = tensor->n_values * size;
        store_values(tensor, m->raw_data.data);
    }
}

static void build_shape(struct dpot_onnx_builder *b, const struct dpot_onnx_end *end,
                        Onnx__TensorShapeProto *m)
{
    m->dim = take_messages(b, end->n_dims, &onnx__tensor_shape_proto__dimension__descriptor);
    for (size_t i = 0; i < end->n_dims && m->dim; i++) {
        if (end->dims[i] > 0) {
            m->dim[i]->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
            m->dim[i]->dim_value = end->dims[i];
        } else {
            m->dim[i]->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
            m->dim[i]->dim_param = text("n");
        }
        m->n_dim = i + 1;
    }
}

static void build_end(struct dpot_onnx_builder *b, const struct dpot_onnx_end *end,
                      Onnx__ValueInfoProto *m)
{
    Onnx__TypeProto *type = dpot_onnx_take(b, 1, sizeof *type);
    Onnx__TypeProto__Tensor *tensor = dpot_onnx_take(b, 1, sizeof *tensor);
    Onnx__TensorShapeProto *shape = dpot_onnx_take(b, 1, sizeof *shape);
    if (type && tensor && shape) {
        onnx__type_proto__init(type);
        onnx__type_proto__tensor__init(tensor);
        onnx__tensor_shape_proto__init(shape);
        m->name = text(end->name);
        m->type = type;
        type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
        type->tensor_type = tensor;
        tensor->has_elem_type = true;
        tensor->elem_type = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
        tensor->shape = shape;
        build_shape(b, end, shape);
    }
}

static void build_ends(struct dpot_onnx_builder *b, const struct dpot_onnx_graph *graph,
                       Onnx__GraphProto *m)
{
    m->input = take_messages(b, graph->n_inputs, &onnx__value_info_proto__descriptor);
    for (size_t i = 0; i < graph->n_inputs && m->input; i++) {
        build_end(b, &graph->inputs[i], m->input[i]);
        m->n_input = i + 1;
    }
    m->output = take_messages(b, graph->n_outputs, &onnx__value_info_proto__descriptor);
    for (size_t i = 0; i < graph->n_outputs && m->output; i++) {
        build_end(b, &graph->outputs[i], m->output[i]);
        m->n_output = i + 1;
    }
}

static void build_graph(struct dpot_onnx_builder *b, const struct dpot_onnx_graph *graph,
                        Onnx__GraphProto *m)
{
    m->name = text(graph->name);
    m->node = take_messages(b, graph->n_nodes, &onnx__node_proto__descriptor);
    for (size_t i = 0; i < graph->n_nodes && m->node; i++) {
        build_node(b, &graph->nodes[i], m->node[i]);
        m->n_node = i + 1;
    }
    m->initializer = take_messages(b, graph->n_tensors, &onnx__tensor_proto__descriptor);
    for (size_t i = 0; i < graph->n_tensors && m->initializer; i++) {
        build_tensor(b, &graph->tensors[i], m->initializer[i]);
        m->n_initializer = i + 1;
    }
    build_ends(b, graph, m);
}

ProtobufCMessage *dpot_onnx_message(struct dpot_onnx_builder *b,
                                    const struct dpot_onnx_graph *graph)
{
    Onnx__ModelProto *m = dpot_onnx_take(b, 1, sizeof *m);
    Onnx__GraphProto *inner = dpot_onnx_take(b, 1, sizeof *inner);
    if (!m || !inner) {
        return NULL;
    }
    onnx__model_proto__init(m);
    onnx__graph_proto__init(inner);
    m->graph = inner;
    build_graph(b, graph, inner);
    m->has_ir_version = true;
    m->ir_version = DPOT_ONNX_IR_VERSION;
    m->producer_name = text(graph->producer);
    m->producer_version = text(graph->producer_version);
    m->doc_string = text(graph->description);
    m->opset_import = take_messages(b, 1, &onnx__operator_set_id_proto__descriptor);
    if (m->opset_import) {
        m->n_opset_import = 1;
        m->opset_import[0]->domain = text("");
        m->opset_import[0]->has_version = true;
        m->opset_import[0]->version = DPOT_ONNX_OPSET;
    }
    m->metadata_props =
        take_messages(b, graph->n_pairs, &onnx__string_string_entry_proto__descriptor);
    for (size_t i = 0; i < graph->n_pairs && m->metadata_props; i++) {
        m->metadata_props[i]->key = text(graph->pairs[i].key);
        m->metadata_props[i]->value = text(graph->pairs[i].value);
        m->n_metadata_props = i + 1;
    }
    return b->is_full ? NULL : &m->base;
}

/* ---- limits for encoding and decoding ---- */

dpot_status dpot_onnx_check_count(const char *what, size_t n, size_t most, struct dpot_error *error)
{
    return n <= most ? DPOT_OK
                     : dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                                      "the model has %zu %s: at most %zu", n, what, most);
}

dpot_status dpot_onnx_check_counts(size_t n_nodes, size_t n_tensors, size_t n_inputs,
                                   size_t n_outputs, size_t n_pairs, struct dpot_error *error)
{
    dpot_status status = dpot_onnx_check_count("nodes", n_nodes, DPOT_ONNX_NODES_MAX, error);
    if (status == DPOT_OK) {
        status = dpot_onnx_check_count("tensors", n_tensors, DPOT_ONNX_TENSORS_MAX, error);
    }
    if (status == DPOT_OK) {
        status = dpot_onnx_check_count("inputs", n_inputs, DPOT_ONNX_ENDS_MAX, error);
    }
    if (status == DPOT_OK) {
        status = dpot_onnx_check_count("outputs", n_outputs, DPOT_ONNX_ENDS_MAX, error);
    }
    return status == DPOT_OK
               ? dpot_onnx_check_count("pairs of metadata", n_pairs, DPOT_ONNX_PAIRS_MAX, error)
               : status;
}

dpot_status dpot_wire_onnx_encode(const struct dpot_onnx_graph *graph, struct dpot_buf *out,
                                  struct dpot_error *error)
{
    struct dpot_arena arena;
    dpot_status status = dpot_onnx_check_counts(graph->n_nodes, graph->n_tensors, graph->n_inputs,
                                                graph->n_outputs, graph->n_pairs, error);
    if (status != DPOT_OK) {
        return status;
    }
    dpot_arena_init(&arena, DPOT_ONNX_MEMORY(DPOT_ONNX_BYTES_MAX), out->allocator);
    struct dpot_onnx_builder builder = {&arena, false};
    const ProtobufCMessage *message = dpot_onnx_message(&builder, graph);
    status = message ? dpot_message_append(message, out) : DPOT_ERR_MEMORY;
    dpot_arena_release(&arena);
    return status == DPOT_OK ? status : dpot_error_set(error, status, "no space for the model");
}

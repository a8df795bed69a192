#include "proto/wire_onnx.h"

#include "proto/wire_onnx_message.h"

#include "onnx.pb-c.h"

#include <string.h>

static const char *text_of(const char *s)
{
    return s ? s : "";
}

static dpot_status refuse(struct dpot_error *error, const char *what)
{
    return dpot_error_set(error, DPOT_ERR_MALFORMED, "%s: only models written by dpot can be read",
                          what);
}

static dpot_status no_memory(struct dpot_error *error)
{
    return dpot_error_set(error, DPOT_ERR_MEMORY, "no memory for the model");
}

static dpot_status read_attribute(struct dpot_onnx_builder *b, const Onnx__AttributeProto *m,
                                  struct dpot_onnx_attribute *attribute, struct dpot_error *error)
{
    *attribute = (struct dpot_onnx_attribute){.name = text_of(m->name), .text = ""};
    attribute->type = (enum dpot_onnx_attribute_type)m->type;
    attribute->f = m->f;
    attribute->i = m->i;
    attribute->ints = m->ints;
    attribute->n_ints = m->n_ints;
    if (m->type != ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT &&
        m->type != ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT &&
        m->type != ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING &&
        m->type != ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS) {
        return refuse(error, "an attribute has an unsupported type");
    }
    if (m->has_s) {
        char *copy = dpot_onnx_take(b, m->s.len + 1, 1); /* zeroed */
        if (!copy) {
            return no_memory(error);
        }
        if (m->s.len > 0) {
            memcpy(copy, m->s.data, m->s.len);
        }
        attribute->text = copy;
    }
    return dpot_onnx_check_count("numbers in an attribute", m->n_ints, DPOT_ONNX_INTS_MAX, error);
}

static dpot_status read_node(struct dpot_onnx_builder *b, const Onnx__NodeProto *m,
                             struct dpot_onnx_node *node, struct dpot_error *error)
{
    *node = (struct dpot_onnx_node){.op = text_of(m->op_type), .name = text_of(m->name)};
    if (m->n_input > DPOT_ONNX_ENDS_MAX || m->n_output > DPOT_ONNX_ENDS_MAX ||
        m->n_attribute > DPOT_ONNX_ENDS_MAX) {
        return refuse(error, "a node has too many inputs, outputs or attributes");
    }
    struct dpot_onnx_attribute *attributes = dpot_onnx_take(b, m->n_attribute, sizeof *attributes);
    if (!attributes) {
        return no_memory(error);
    }
    node->attributes = attributes;
    node->n_attributes = m->n_attribute;
    node->n_inputs = m->n_input;
    node->n_outputs = m->n_output;
    for (size_t i = 0; i < m->n_input; i++) {
        node->inputs[i] = text_of(m->input[i]);
    }
    for (size_t i = 0; i < m->n_output; i++) {
        node->outputs[i] = text_of(m->output[i]);
    }
    dpot_status status = DPOT_OK;
    for (size_t i = 0; i < m->n_attribute && status == DPOT_OK; i++) {
        status = read_attribute(b, m->attribute[i], &attributes[i], error);
    }
    return status;
}

/* Whether the product of the dimensions is the number of values. */
static bool has_size(const struct dpot_onnx_tensor *tensor)
{
    uint64_t product = 1;
    for (size_t i = 0; i < tensor->n_dims; i++) {
        const int64_t dim = tensor->dims[i];
        if (dim < 1 || dim > (int64_t)DPOT_ONNX_BYTES_MAX || product > DPOT_ONNX_BYTES_MAX) {
            return false;
        }
        product *= (uint64_t)dim;
    }
    return product == tensor->n_values;
}

static dpot_status read_values(struct dpot_onnx_builder *b, const ProtobufCBinaryData *raw,
                               bool is_float, struct dpot_onnx_tensor *tensor,
                               struct dpot_error *error)
{
    const size_t size = is_float ? 4 : 8;
    void *values = dpot_onnx_take(b, raw->len / size, size);
    if (!values) {
        return no_memory(error);
    }
    for (size_t i = 0; i < raw->len / size; i++) {
        if (is_float) {
            const uint32_t bits = dpot_load_u32(raw->data + 4 * i);
            memcpy((float *)values + i, &bits, sizeof bits);
        } else {
            ((int64_t *)values)[i] = (int64_t)dpot_load_u64(raw->data + 8 * i);
        }
    }
    tensor->n_values = raw->len / size;
    tensor->floats = is_float ? values : NULL;
    tensor->ints = is_float ? NULL : values;
    return has_size(tensor) && raw->len % size == 0
               ? DPOT_OK
               : refuse(error, "the number of values of a tensor does not match its shape");
}

static dpot_status read_tensor(struct dpot_onnx_builder *b, const Onnx__TensorProto *m,
                               struct dpot_onnx_tensor *tensor, struct dpot_error *error)
{
    const bool is_float = m->data_type == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    *tensor = (struct dpot_onnx_tensor){.name = text_of(m->name)};
    if (!is_float && m->data_type != ONNX__TENSOR_PROTO__DATA_TYPE__INT64) {
        return refuse(error, "a tensor holds neither float32 nor int64");
    }
    if (m->n_dims > DPOT_ONNX_ENDS_MAX) {
        return refuse(error, "a tensor has too many dimensions");
    }
    for (size_t i = 0; i < m->n_dims; i++) {
        tensor->dims[i] = m->dims[i];
    }
    tensor->n_dims = m->n_dims;
    return read_values(b, &m->raw_data, is_float, tensor, error);
}

static dpot_status read_end(const Onnx__ValueInfoProto *m, struct dpot_onnx_end *end,
                            struct dpot_error *error)
{
    *end = (struct dpot_onnx_end){.name = text_of(m->name)};
    if (!m->type || m->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ||
        !m->type->tensor_type->shape || m->type->tensor_type->shape->n_dim > DPOT_ONNX_ENDS_MAX) {
        return refuse(error, "an input or output is not a tensor of a known shape");
    }
    const Onnx__TensorShapeProto *shape = m->type->tensor_type->shape;
    end->n_dims = shape->n_dim;
    for (size_t i = 0; i < shape->n_dim; i++) {
        if (shape->dim[i]->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE) {
            end->dims[i] = shape->dim[i]->dim_value;
        }
    }
    return DPOT_OK;
}

static dpot_status read_ends(struct dpot_onnx_builder *b, Onnx__ValueInfoProto *const *m, size_t n,
                             const struct dpot_onnx_end **out, struct dpot_error *error)
{
    struct dpot_onnx_end *ends = dpot_onnx_take(b, n, sizeof *ends);
    dpot_status status = ends ? DPOT_OK : no_memory(error);
    for (size_t i = 0; i < n && status == DPOT_OK; i++) {
        status = read_end(m[i], &ends[i], error);
    }
    *out = ends;
    return status;
}

static dpot_status read_graph(struct dpot_onnx_builder *b, const Onnx__GraphProto *m,
                              struct dpot_onnx_graph *graph, struct dpot_error *error)
{
    struct dpot_onnx_node *nodes = dpot_onnx_take(b, m->n_node, sizeof *nodes);
    struct dpot_onnx_tensor *tensors = dpot_onnx_take(b, m->n_initializer, sizeof *tensors);
    dpot_status status = nodes && tensors ? DPOT_OK : no_memory(error);
    for (size_t i = 0; i < m->n_node && status == DPOT_OK; i++) {
        status = read_node(b, m->node[i], &nodes[i], error);
    }
    for (size_t i = 0; i < m->n_initializer && status == DPOT_OK; i++) {
        status = read_tensor(b, m->initializer[i], &tensors[i], error);
    }
    graph->name = text_of(m->name);
    graph->nodes = nodes;
    graph->n_nodes = m->n_node;
    graph->tensors = tensors;
    graph->n_tensors = m->n_initializer;
    graph->n_inputs = m->n_input;
    graph->n_outputs = m->n_output;
    if (status == DPOT_OK) {
        status = read_ends(b, m->input, m->n_input, &graph->inputs, error);
    }
    return status == DPOT_OK ? read_ends(b, m->output, m->n_output, &graph->outputs, error)
                             : status;
}

static dpot_status read_model(struct dpot_onnx_builder *b, const Onnx__ModelProto *m,
                              struct dpot_onnx_graph *graph, struct dpot_error *error)
{
    if (!m->graph) {
        return refuse(error, "the model has no graph");
    }
    dpot_status status =
        dpot_onnx_check_counts(m->graph->n_node, m->graph->n_initializer, m->graph->n_input,
                               m->graph->n_output, m->n_metadata_props, error);
    struct dpot_onnx_pair *pairs = NULL;
    if (status == DPOT_OK) {
        pairs = dpot_onnx_take(b, m->n_metadata_props, sizeof *pairs);
        status = pairs ? DPOT_OK : no_memory(error);
    }
    for (size_t i = 0; i < m->n_metadata_props && status == DPOT_OK; i++) {
        pairs[i].key = text_of(m->metadata_props[i]->key);
        pairs[i].value = text_of(m->metadata_props[i]->value);
    }
    graph->producer = text_of(m->producer_name);
    graph->producer_version = text_of(m->producer_version);
    graph->description = text_of(m->doc_string);
    graph->pairs = pairs;
    graph->n_pairs = m->n_metadata_props;
    return status == DPOT_OK ? read_graph(b, m->graph, graph, error) : status;
}

/* Parts of the message that are not in the graph would be missing from the bytes of the graph. */
static dpot_status check_canonical(struct dpot_onnx_builder *b, const struct dpot_onnx_graph *graph,
                                   const void *data, size_t len, struct dpot_error *error)
{
    const ProtobufCMessage *again = dpot_onnx_message(b, graph);
    if (!again) {
        return no_memory(error);
    }
    return dpot_message_packs_to(again, data, len)
               ? DPOT_OK
               : refuse(error, "the model has parts that dpot does not write, or another order");
}

dpot_status dpot_wire_onnx_decode(const void *data, size_t len, struct dpot_arena *arena,
                                  struct dpot_onnx_graph *graph, struct dpot_error *error)
{
    ProtobufCMessage *base = NULL;
    struct dpot_onnx_builder builder = {arena, false};
    *graph = (struct dpot_onnx_graph){0};
    if (len > DPOT_ONNX_BYTES_MAX) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE, "the model has %zu bytes: at most %u", len,
                              DPOT_ONNX_BYTES_MAX);
    }
    dpot_status status =
        dpot_message_unpack(&onnx__model_proto__descriptor, data, len, arena, &base, error);
    if (status == DPOT_OK) {
        status = dpot_message_refuse_unknown(base, error);
    }
    if (status == DPOT_OK) {
        status = read_model(&builder, (const Onnx__ModelProto *)base, graph, error);
    }
    if (status == DPOT_OK) {
        status = check_canonical(&builder, graph, data, len, error);
    }
    if (status != DPOT_OK) {
        *graph = (struct dpot_onnx_graph){0};
    }
    return status;
}

# The schema of ONNX as libonnx-dev installs it, without its recursive fields: it bounds the nesting
# of messages for any bytes. The removed fields are unknown ones, which decoders refuse.
find_file(ONNX_SCHEMA onnx/onnx.proto REQUIRED)
file(READ ${ONNX_SCHEMA} schema)
foreach(field "optional GraphProto g = 6;" "repeated GraphProto graphs = 11;"
    "Sequence sequence_type = 4;" "Map map_type = 5;" "Optional optional_type = 9;")
  string(FIND "${schema}" "${field}" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "${ONNX_SCHEMA} has no field `${field}`: see proto/onnx_schema.cmake")
  endif()
  string(REPLACE "${field}" "" schema "${schema}")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/schema/onnx.proto CONTENT "${schema}" @ONLY)

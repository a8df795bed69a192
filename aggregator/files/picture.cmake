# dpot_picture: heat maps, points, curves and image sheets as .png and .svg; the door of
# cairo and fontconfig.
pkg_check_modules(FONTCONFIG REQUIRED IMPORTED_TARGET GLOBAL fontconfig)
add_library(dpot_picture STATIC axis.c colour.c colour_bar.c csv_header.c curves.c frame.c heatmap.c
  label.c picture.c picture_cairo.c picture_svg.c points.c sheet.c)
target_link_libraries(dpot_picture PUBLIC dpot_files PRIVATE PkgConfig::CAIRO PkgConfig::FONTCONFIG
  dpot_flags m)

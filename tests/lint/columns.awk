# Lines wider than 100 columns: in C every one, but for generated tables (clang-format off); in
# scripts and CMake the comments.
BEGIN { columns = 100 }
FNR == 1 { is_c = FILENAME ~ /\.[ch]$/; is_generated = 0 }
/clang-format off/ { is_generated = 1 }
/clang-format on/ { is_generated = 0 }
length($0) > columns && !is_generated && (is_c || /^[ \t]*#/) {
    printf "%s:%d: columns: %d, at most %d\n", FILENAME, FNR, length($0), columns
    failed = 1
}
END { exit failed }

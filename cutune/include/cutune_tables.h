// Tables of a tuned program, as text: a character stands for a small number, or one or more for the
// place of a value in a list. Rows are read once, before the first decision.
#ifndef CUTUNE_TABLES_H
#define CUTUNE_TABLES_H

// From '#' on characters are numbers. Those of the last 20 lead to another digit.
enum { cutune_zero = 35, cutune_digits = 72, cutune_leading = 20 };

inline int cutune_entry(const char *text, int index) { return text[index] - cutune_zero; }
inline int cutune_entry(const unsigned short *numbers, int index) { return numbers[index]; }

template <class Entry>
inline double cutune_at(const Entry *table, double index) {
    return cutune_entry(table, static_cast<int>(index));
}
inline double cutune_at(const float *table, double index) {
    return static_cast<double>(table[static_cast<int>(index)]);
}

inline int cutune_number(const char **text) {
    int leading = 0, digit = *(*text)++ - cutune_zero;
    for (; digit >= cutune_digits; digit = *(*text)++ - cutune_zero)
        leading = leading * cutune_leading + digit - cutune_digits + 1;
    return leading * cutune_digits + digit;
}

// Fills `count` rows of `width` entries. Candidates whose columns are equal have the same place in
// `shape`, of which the text has one entry each; nullptr: it has all. It runs once per table: copies
// of it would only take time to compile.
__attribute__((noinline, cold)) inline void cutune_read_rows(double *row, int count, int width,
                                                             const double *values,
                                                             const char *text,
                                                             const char *shape) {
    int kept = 0;
    for (int c = 0; shape != nullptr && c < width; ++c)
        if (cutune_entry(shape, c) >= kept) kept = cutune_entry(shape, c) + 1;
    for (; count > 0; --count, row += width) {
        double columns[128];  // as many as a character counts, and more
        for (int k = 0; k < kept; ++k) columns[k] = values[cutune_number(&text)];
        for (int c = 0; c < width; ++c)
            row[c] = kept == 0 ? values[cutune_number(&text)] : columns[cutune_entry(shape, c)];
    }
}

// One row per alignment class, with an entry per candidate. `rows` says which row of the text each
// class has, nullptr: its own.
template <int count, int width>
struct cutune_table {
    const char *row_of;
    double entries[count * width];

    cutune_table(const double *values, const char *text, const char *rows = nullptr,
                 const char *shape = nullptr)
        : row_of(rows) {
        cutune_read_rows(entries, count, width, values, text, shape);
    }

    // The row of a class.
    const double *operator[](double which) const {
        const int row = static_cast<int>(which);
        return entries + width * (row_of == nullptr ? row : cutune_entry(row_of, row));
    }
};

#endif  // CUTUNE_TABLES_H

// Times many configurations of a sample of the suite BAT in one process: without it, most of the
// time would be spent on starting CUDA. The sample is compiled with -Dmain=bat_main, and
// instrumented.
//
//   driver ARGUMENTS REPETITIONS SLOW      each line of input: a setting, as in CUTUNE_SET
//
// An answer per line: the exit status, the repetitions in the region, and the line of the region.
// What takes longer than SLOW milliseconds is not repeated; with 0, nothing is tried once before.
// Ends at the first configuration that fails, since CUDA's errors stay.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <initializer_list>

int bat_main(int, char **);

static double milliseconds_of(const char *region) {
    const char *found = strstr(region, "\"milliseconds\":");
    // `null` of the emulated device is 0.
    return found == nullptr ? 0 : atof(found + strlen("\"milliseconds\":"));
}

// What the program has written since its beginning.
static bool region_of(const char *path, char *text, int size) {
    FILE *file = fopen(path, "r");
    if (file == nullptr) return false;
    const bool is_there = fgets(text, size, file) != nullptr;
    fclose(file);
    text[strcspn(text, "\n")] = '\0';
    return is_there;
}

int main(int argc, char **argv) {
    const char *output = getenv("CUTUNE_OUTPUT");
    if (argc < 3 || output == nullptr) return 2;
    const double slow = atof(argv[argc - 1]);
    char *const repetitions = argv[argc - 2];
    char once[] = "1";
    FILE *answers = fdopen(dup(STDOUT_FILENO), "w");
    if (answers == nullptr || freopen("/dev/null", "w", stdout) == nullptr) return 2;
    static char setting[1 << 12], region[1 << 14];
    while (fgets(setting, sizeof setting, stdin) != nullptr) {
        setting[strcspn(setting, "\n")] = '\0';
        setenv("CUTUNE_SET", setting, 1);
        int status = 0;
        for (char *count : {once, repetitions}) {
            if (count == once && slow <= 0) continue;
            argv[argc - 2] = count;
            if (access(output, F_OK) == 0 && truncate(output, 0) != 0) return 2;
            region[0] = '\0';
            status = bat_main(argc - 1, argv);
            if (status == 0 && !region_of(output, region, sizeof region)) status = 3;
            if (status != 0 || count == repetitions || milliseconds_of(region) > slow) {
                fprintf(answers, "%d\t%s\t%s\n", status, count, region);
                break;
            }
        }
        fflush(answers);
        if (status != 0) return 1;
    }
    return 0;
}

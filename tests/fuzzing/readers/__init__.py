"""The targets: a module for each reader, whose `READER` is a `tests.fuzzing.reader.Reader`."""

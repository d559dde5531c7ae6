"""Other people's data, in and out: trials and blocks in the file formats of the benchmarks that the paradigms come from."""

"""The tables and figures of the two papers that SpanLab stands on, made again from the data at
hand, each beside what was published."""

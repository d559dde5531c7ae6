"""Which files of tests come first."""

#: the files that take longest, so that none of them is begun last; those that calculate and those
#: that wait take turns
LONGEST = (
    "tests/house/test_docs",
    "extensions/standards/tests/test_pseudonyms",
    "tests/agents/human/test_real",
    "tests/agents/chat/test_session",
    "tests/agents/human/test_window",
    "tests/analysis/report/test_page",
    "tests/agents/chat/transport/test_batches",
    "tests/agents/human/test_pages",
    "tests/sessions/test_command",
    "tests/paradigms/worm/test_change",
    "tests/agents/chat/transport/test_faults",
    "tests/agents/network/test_training",
    "tests/sessions/test_kills",
    "extensions/replication/tests/test_pages",
    "tests/house/test_layers",
    "tests/agents/chat/cost/test_account",
    "tests/analysis/stats/test_intervals",
    "tests/house/test_start",
    "tests/analysis/report/test_overview",
    "tests/analysis/test_effects",
    "tests/paradigms/worm/test_span",
    "tests/sessions/studies/test_sessions",
    "tests/house/test_api",
    "tests/agents/network/test_speed",
)

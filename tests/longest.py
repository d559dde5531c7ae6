"""Which files of tests come first."""

#: the files that take longest, so that none of them is begun last; those that calculate and those
#: that wait take turns
LONGEST = (
    "house/test_docs",
    "extensions/standards/tests/test_pseudonyms",
    "agents/human/test_real",
    "agents/chat/test_session",
    "agents/human/test_window",
    "analysis/report/test_page",
    "agents/chat/transport/test_batches",
    "agents/human/test_pages",
    "sessions/test_command",
    "paradigms/worm/test_change",
    "agents/chat/transport/test_faults",
    "agents/network/test_training",
    "sessions/test_kills",
    "extensions/replication/tests/test_pages",
    "house/test_layers",
    "agents/chat/cost/test_account",
    "analysis/stats/test_intervals",
    "house/test_start",
    "analysis/report/test_overview",
    "analysis/test_effects",
    "paradigms/worm/test_span",
    "sessions/studies/test_sessions",
    "house/test_api",
    "agents/network/test_speed",
)

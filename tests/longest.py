"""Which files of tests come first."""

#: the files that take longest, so that none of them is begun last; those that calculate and those
#: that wait take turns
LONGEST = (
    "tests/core/test_faults",
    "tests/agents/human/test_endurance",
    "tests/agents/human/test_battery",
    "tests/house/test_docs",
    "tests/agents/human/test_real",
    "tests/sessions/test_command",
    "tests/analysis/report/test_page",
    "extensions/benchmark/tests/test_benchmark",
    "tests/analysis/test_unread",
    "tests/agents/network/test_training",
    "tests/agents/chat/transport/test_faults",
    "extensions/standards/tests/test_pseudonyms",
    "tests/agents/chat/test_session",
    "tests/agents/chat/reading/test_extraction",
    "tests/agents/human/test_pages",
    "tests/analysis/report/test_nback",
    "tests/house/test_start",
    "tests/agents/test_wall",
    "extensions/app/tests/test_attacks",
    "tests/agents/network/test_models",
    "tests/sessions/studies/test_sessions",
    "tests/analysis/test_scores",
    "tests/agents/human/test_guidance",
    "tests/paradigms/test_same_trials",
    "tests/analysis/test_effects",
    "tests/house/test_layers",
)

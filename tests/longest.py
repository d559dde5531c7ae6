"""Which files of tests come first."""

#: the files that take longest, so that none of them is begun last; those that calculate and those that wait take turns
LONGEST = (
    "agents/human/test_real",
    "agents/test_wall",
    "agents/human/test_window",
    "sessions/test_agents",
    "agents/chat/transport/test_faults",
    "paradigms/language/test_badinput_files",
    "house/test_docs",
    "agents/chat/test_session",
    "analysis/report/test_page",
    "agents/human/test_simulated",
    "cli/test_badinput_commands",
    "agents/network/test_agent",
    "agents/human/test_pages",
    "agents/chat/reading/test_extraction",
    "agents/network/test_speed",
    "analysis/report/test_nback",
    "agents/network/test_presets",
    "agents/network/test_training",
    "analysis/test_effects",
    "sessions/test_kills",
    "analysis/test_distributed",
    "agents/network/test_models",
)

"""Which files of tests come first."""

#: the files that take longest, so that none of them is begun last; those that calculate and those that wait take turns
LONGEST = (
    "test_wall",
    "test_lab_window",
    "test_sessions_agents",
    "test_lab_real",
    "test_network_presets",
    "test_chat_faults",
    "test_network_agent",
    "test_lab_simulated",
    "test_house_docs",
    "test_chat_session",
    "test_analysis_effects",
    "test_lab_triggers",
    "test_analysis_report",
    "test_sessions_kills",
    "test_badinput_commands",
)

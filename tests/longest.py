"""Which files of tests come first."""

#: the files that take longest, so that none of them is begun last; those that calculate and those that wait take turns
LONGEST = (
    "test_lab_real",
    "test_wall",
    "test_lab_window",
    "test_sessions_agents",
    "test_chat_faults",
    "test_badinput_files",
    "test_lab_triggers",
    "test_house_docs",
    "test_chat_session",
    "test_analysis_report",
    "test_lab_simulated",
    "test_badinput_commands",
    "test_network_agent",
    "test_lab_pages",
    "test_chat_extraction",
    "test_network_speed",
    "test_analysis_nback_report",
    "test_network_presets",
    "test_network_training",
    "test_analysis_effects",
    "test_sessions_kills",
    "test_analysis_distributed",
    "test_network_models",
)

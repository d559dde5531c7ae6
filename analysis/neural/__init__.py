"""Neural analysis of networks: what their units do in which task, which units go together, and what is lost without them.

Everything here works on plain arrays of states (:class:`.states.TaskStates`) and knows no networks; the command line hands the states over.
"""

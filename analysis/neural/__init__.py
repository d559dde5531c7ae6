"""Neural analysis of networks: in which tasks units are active, which units form clusters, and how accuracy falls without them.

Everything here works on plain arrays of states (:class:`.states.TaskStates`) and knows no networks; the command line passes the states in.
"""

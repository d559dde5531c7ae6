from .sweep import read_sweep as read_sweep

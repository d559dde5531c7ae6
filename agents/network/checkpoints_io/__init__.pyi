from .published import worm_tasks as worm_tasks

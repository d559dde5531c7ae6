from .inspect_hook import InspectHook as InspectHook

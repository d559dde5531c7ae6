"""Published trials against freshly made ones: does a model know the trials that it is tested with?"""

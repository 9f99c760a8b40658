"""The verbs of the command line: options in, the stage called, its result shown."""

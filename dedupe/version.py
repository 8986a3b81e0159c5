"""The version, in the one place where the build, the program and the reports read it."""

__version__ = "0.2.0"

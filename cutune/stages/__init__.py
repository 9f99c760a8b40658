"""The stages as functions: collect, fit, emit, and all of them inside a build."""

"""The command line: parse, call one function of a floor below, print."""

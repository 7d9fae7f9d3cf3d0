"""The command line: transport only."""

"""Private tables and records: schema, records in memory, in parts, on a cluster or a GPU."""

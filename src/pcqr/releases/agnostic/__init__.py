"""AgPrivCl: relabelled records, then votes."""

"""Private classification-query release."""

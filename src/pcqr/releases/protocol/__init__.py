"""The query protocol: answers and what they cost, plans, logs, and the online algorithm that asks them."""

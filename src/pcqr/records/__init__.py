"""The private records: what is held, and the questions that algorithms ask of it."""

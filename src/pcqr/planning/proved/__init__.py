"""What is proved about accuracy: deviations, the certificate of a plan, the fewest records that have one."""

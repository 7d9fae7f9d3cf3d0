"""What several tests need: the exact law of a sampler, by walking through every branch of its choices."""

from support.laws import brute_force_law, sampler_law, sampler_outcomes

__all__ = ["brute_force_law", "sampler_law", "sampler_outcomes"]

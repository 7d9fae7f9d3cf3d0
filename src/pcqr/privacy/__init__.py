"""What a promise is: guarantee, privacy unit, accountants, composition, noise, entropy."""

"""SSPP: one exact draw from a public class."""

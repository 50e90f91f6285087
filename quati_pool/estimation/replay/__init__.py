"""Estimation tried out where people graded everything, so that the truth is known.

Many samples are drawn by each design, and each is estimated from as if nothing else were graded. How often do the
intervals contain the truth, how wide are they, and which systems can be told apart?
"""

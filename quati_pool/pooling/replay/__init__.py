"""Replays of pools: what each method would have found, and how systems would have ranked, on fully judged data."""

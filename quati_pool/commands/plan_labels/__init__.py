"""``quati-pool plan-labels``: what a budget of money and hours buys by each way to spend it."""

"""The sections of the team page: people, designs, and pairs with a known grade."""

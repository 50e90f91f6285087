"""``python -m quati_pool``."""

from quati_pool.cli.main import main

main()

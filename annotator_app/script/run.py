"""The script that Streamlit runs for each visitor and each change."""

from annotator_app.app import main

main()

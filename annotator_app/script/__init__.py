"""The folder of the script that Streamlit runs: it goes onto sys.path, so nothing else lies here."""

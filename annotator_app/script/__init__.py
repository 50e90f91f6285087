"""The folder of the script that Streamlit runs; Streamlit adds it to sys.path, so it contains nothing else."""

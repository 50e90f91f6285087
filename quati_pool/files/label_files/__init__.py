"""Readers and writers of label files in all supported formats."""

from quati_pool.files.label_files.label_file import LabelFile
from quati_pool.files.label_files.reading import LABEL_FORMATS, annotators, detect_label_format, read_label_file

__all__ = ["LABEL_FORMATS", "LabelFile", "annotators", "detect_label_format", "read_label_file"]

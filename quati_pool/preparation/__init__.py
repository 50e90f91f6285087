"""From pages to passages: the steps of ``quati-pool prepare``, one file each."""

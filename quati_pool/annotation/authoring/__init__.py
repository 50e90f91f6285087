"""The writing of a collection's questions and answers in rounds: designs say which rounds there are and what each
shows and asks; the store keeps who does what."""

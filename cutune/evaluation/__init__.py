"""Does a tuned program compute the same, and how good are its choices?"""

"""Host parameters chosen by nearest neighbours: tables of measured times to classifiers to C."""

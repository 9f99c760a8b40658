"""Host parameters: measured times in, the choice by nearest neighbours out."""

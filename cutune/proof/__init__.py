"""Proofs on compiled code: PTX in, what may change about the launches of an entry out.

In order of flow: `values` (what is known of values, conditions, instructions without effects),
`flow` (the values at every instruction), `memory` (effects, threads that meet), `entry` (the
verdict), `confirm` (joined with what the source says).
"""

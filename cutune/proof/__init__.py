"""Proofs on compiled code: PTX in, what may change about the launches of an entry out.

In order of flow: `terms` (what is known of values), `predicates` (conditions), `operations`
(instructions without effects), `walk` (the values at every instruction), `accesses` (effects),
`bounds` (guards), `places` (threads that meet in memory), `entry` (the verdict), `confirm` (joined
with what the source says).
"""

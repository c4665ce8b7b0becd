"""A forest outside frith: a graph that any ONNX runtime can run, and text that a person can read.

Whatever is written comes from the forest alone, which holds released numbers only.
"""

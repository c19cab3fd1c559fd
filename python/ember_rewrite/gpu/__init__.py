"""Measures models on a GPU with PyTorch: `python -m ember_rewrite.gpu MODEL … -o FILE`.

The file is for `ember-rewrite bench --gpu FILE`. The models are the files that the compiler reads; their data is drawn
on the device from the same distributions. The package needs PyTorch alone, so its folder also runs by itself, under
the name `gpu`, on a machine without the compiler.
"""


2
xPlaceholder*
dtype0*
shape
:

layer/spectrumFFTx
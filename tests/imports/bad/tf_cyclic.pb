
2
xPlaceholder*
dtype0*
shape
:

aAddV2xb

bRelua

cRelub
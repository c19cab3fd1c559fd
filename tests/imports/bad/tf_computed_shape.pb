
2
xPlaceholder*
dtype0*
shape
:
.
nPlaceholder*
dtype0*
shape:

aReshapexn
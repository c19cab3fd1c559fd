
.
xPlaceholder*
dtype0*
shape:

aRelux
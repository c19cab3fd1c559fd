
2
xPlaceholder*
dtype0*
shape
:

aAddV2xnothing
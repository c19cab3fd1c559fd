
2
xPlaceholder*
dtype0*
shape
:


wConst

aAddV2xw
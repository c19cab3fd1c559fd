
2
xPlaceholder*
dtype0*
shape
:
&
aPartitionedCallx*
fR
body
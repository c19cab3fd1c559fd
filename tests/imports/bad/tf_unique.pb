
0
idsPlaceholder*
dtype0	*
shape:

aUniqueids*
out_idx0

bNega
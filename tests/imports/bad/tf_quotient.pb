
0
idsPlaceholder*
dtype0	*
shape:

aFloorDividsids
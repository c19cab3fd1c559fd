
?
xPlaceholder*
dtype0* 
shape:ÿÿÿÿÿÿÿÿÿ
9
nConst*
dtype0* 
valueB:ÿÿÿÿÿÿÿÿÿ

aReshapexn
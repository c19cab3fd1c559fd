
2
xPlaceholder*
dtype0*
shape
:
2
wPlaceholder*
dtype0*
shape
:

mMatMulxw
/
cConst*
dtype0*
valueB:

nSummc*
	keep_dims(

dRealDivmn

IdentityIdentityd^n

2
xPlaceholder*
dtype0*
shape
:
,
cConst*
dtype0*
value
B

aProdxc


xPlaceholder*
dtype0

aRelux
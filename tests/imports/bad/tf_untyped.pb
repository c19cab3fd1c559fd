

xPlaceholder

aRelux
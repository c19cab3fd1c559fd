// Compile it with -fwrapv, as integers wrap, and with -ffp-contract=off if the results must be the reference's to the bit.
#include <math.h>
#include <stdint.h>
#include <string.h>

$FUNCTIONS
void $NAME_unchecked($RESTRICTED) {
$BODY}

int $NAME($PARAMETERS) {
$TESTS  $NAME_unchecked($ARGUMENTS);
  return 0;
}

int $NAME_call(const int64_t *sizes, void *const *tensors, int checked) {
  (void)sizes;
  if (checked) return $NAME($GIVEN);
  $NAME_unchecked($GIVEN);
  return 0;
}

#ifndef $GUARD_H
#define $GUARD_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Tensors are row-major, and none overlaps one that is written:
$SHAPES// Returns 0$ERRORS
int $NAME($PARAMETERS);

// Runs without looking at the data: what does not hold makes it read or write anywhere.
void $NAME_unchecked($PARAMETERS);

// Calls one of both with sizes and tensors in the order of their parameters.
int $NAME_call(const int64_t *sizes, void *const *tensors, int checked);
$REPLACEABLE
#ifdef __cplusplus
}
#endif

#endif

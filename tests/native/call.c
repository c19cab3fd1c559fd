// Calls the library of the embedding bag on three bags, and on data that it refuses.
#include "libbag.h"

#include <stdio.h>

int main(void) {
  float table[3 * 64], out[3 * 64];
  for (int k = 0; k < 3 * 64; k++) table[k] = (float)(k / 64 + 1);
  int64_t indices[3] = {0, 1, 2}, offsets[4] = {0, 2, 3, 3};
  int64_t lookups = 3, rows = 3, bags = 3;
  offsets[1] = 2;
  indices[2] = 2;
  table[2 * 64] = 5;
  int status = embedding_bag(rows, lookups, bags + 1, bags, table, indices, offsets, out);
  printf("%d: %g %g %g\n", status, out[0], out[64], out[128]);
  indices[1] = 3;
  printf("%d\n", embedding_bag(rows, lookups, bags + 1, bags, table, indices, offsets, out));
  indices[1] = 1;
  offsets[3] = 4;
  printf("%d\n", embedding_bag(rows, lookups, bags + 1, bags, table, indices, offsets, out));
  return 0;
}

// Calls a program on the data of a file, under sanitizers: each tensor has exactly its own memory, at an address that
// no vector divides. Writes the tensors to another file. NAME_call is `PROGRAM`.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int PROGRAM(const int64_t *sizes, void *const *tensors, int checked);

static void *part(FILE *file, int64_t bytes, size_t aligned) {
  char *memory = malloc((size_t)bytes + aligned);
  if (fread(memory + aligned, 1, (size_t)bytes, file) != (size_t)bytes) exit(100);
  return memory + aligned;
}

int main(int count, char **words) {
  if (count != 3) return 101;
  FILE *data = fopen(words[1], "rb"), *out = fopen(words[2], "wb");
  if (!data || !out) return 102;
  int64_t sizes[SIZES + 1], bytes[TENSORS + 1], aligned[TENSORS + 1];
  void *tensors[TENSORS + 1];
  for (int k = 0; k < SIZES; k++) fread(&sizes[k], 8, 1, data);
  for (int k = 0; k < TENSORS; k++) {
    fread(&bytes[k], 8, 1, data);
    fread(&aligned[k], 8, 1, data);
    tensors[k] = part(data, bytes[k], (size_t)aligned[k]);
  }
  const int status = PROGRAM(sizes, tensors, 1);
  for (int k = 0; k < TENSORS; k++) {
    fwrite(tensors[k], 1, (size_t)bytes[k], out);
    free((char *)tensors[k] - aligned[k]);
  }
  fclose(data);
  fclose(out);
  return status;
}

// What the programs of bags are compared with. WIDTH is the elements of a row; WEIGHTED if rows are multiplied; QUANTISED
// if they are bytes with a scale and a bias; AHEAD is how many rows ahead the expert and the bound ask, and AGAIN how many rows
// ahead they ask again, unless it is 0.
#include <stdint.h>

typedef float lanes __attribute__((vector_size(64), aligned(4), may_alias));
enum { VECTORS = (WIDTH + 15) / 16 };

#if QUANTISED
typedef uint8_t element;
typedef uint8_t bytes __attribute__((vector_size(16), aligned(1), may_alias));
typedef int32_t words __attribute__((vector_size(64)));
static inline lanes row_part(const element *row) {
#if defined __AVX512F__ && !defined __clang__
  typedef char own __attribute__((vector_size(16)));
  return __builtin_convertvector((words)__builtin_ia32_pmovzxbd512_mask((own)*(const bytes *)row, (words){0}, -1), lanes);
#else
  typedef uint16_t halves __attribute__((vector_size(32)));
  return __builtin_convertvector(__builtin_convertvector(__builtin_convertvector(*(const bytes *)row, halves), words), lanes);
#endif
}
#else
typedef float element;
static inline lanes row_part(const element *row) { return *(const lanes *)row; }
#endif

// The tensors in the order of the model: table, scales if there are any, indices, offsets, weights if there are any, out.
typedef struct {
  const element *table;
  const float *scales, *weights;
  const int64_t *indices, *offsets;
  float *out;
  int64_t rows, lookups, bags;
} call;

static call of(const int64_t *sizes, void *const *tensors) {
  // The rows of a graph are its nodes, and so are its bags.
  call own = {.rows = sizes[0], .lookups = sizes[1], .bags = WEIGHTED ? sizes[0] : sizes[3]};
  own.table = *tensors++;
  if (QUANTISED) own.scales = *tensors++;
  own.indices = *tensors++;
  own.offsets = *tensors++;
  if (WEIGHTED) own.weights = *tensors++;
  own.out = *tensors;
  return own;
}

static int fits(const call *own) {
  uint64_t most = 0;
  for (int64_t k = 0; k < own->lookups; k++) most = (uint64_t)own->indices[k] > most ? (uint64_t)own->indices[k] : most;
  int falls = 0;
  for (int64_t k = 0; k < own->bags; k++) falls |= own->offsets[k + 1] < own->offsets[k];
  return (own->lookups == 0 || most < (uint64_t)own->rows) && !falls && own->offsets[0] == 0 &&
         own->offsets[own->bags] == own->lookups;
}

// Plain loops, as anybody writes them.
int loop(const int64_t *sizes, void *const *tensors, int checked) {
  const call own = of(sizes, tensors);
  if (checked && !fits(&own)) return 1;
  float *restrict out = own.out;
  for (int64_t bag = 0; bag < own.bags; bag++) {
    for (int64_t e = 0; e < WIDTH; e++) out[bag * WIDTH + e] = 0;
    for (int64_t l = own.offsets[bag]; l < own.offsets[bag + 1]; l++) {
      const int64_t row = own.indices[l];
      for (int64_t e = 0; e < WIDTH; e++) {
        float x = own.table[row * WIDTH + e];
        if (QUANTISED) x = x * own.scales[2 * row] + own.scales[2 * row + 1];
        if (WEIGHTED) x = x * own.weights[l];
        out[bag * WIDTH + e] += x;
      }
    }
  }
  return 0;
}

// Always inlined: gcc takes a function that only asks for one without effects, and drops its calls.
static inline __attribute__((always_inline)) void ask_for(const call *own, int64_t l) {
  const int64_t later = l < own->lookups ? l : own->lookups - 1, row = own->indices[later];
  const char *p = (const char *)(own->table + row * WIDTH);
  for (int at = 0; at < WIDTH * (int)sizeof(element); at += 64) __builtin_prefetch(p + at, 0, 2);
  if (QUANTISED) __builtin_prefetch(own->scales + 2 * row, 0, 2);
}
static inline __attribute__((always_inline)) void ask(const call *own, int64_t l) {
  ask_for(own, l + AHEAD);
  if (AGAIN) ask_for(own, l + AGAIN);
}

// The part of a row that is read in a turn, of so many: pairs of four change places, so that no stream seems to begin.
static inline int part(int turn, int parts) { return turn < parts - parts % 4 ? turn ^ 2 : turn; }

// Writes a vector, past the caches if that is asked for.
static inline void put(float *p, lanes x, int past) {
#if defined __AVX512F__ && !defined __clang__
  typedef float whole __attribute__((vector_size(64), may_alias));
  if (past && (uintptr_t)p % 64 == 0) {
    __builtin_ia32_movntps512(p, (whole)x);
    return;
  }
#endif
  *(lanes *)p = x;
}

// All that we know: constant widths, sums in registers, rows asked for ahead, and not read from their start to their end,
// and outputs that no cache holds written past the caches.
int expert(const int64_t *sizes, void *const *tensors, int checked) {
  const call own = of(sizes, tensors);
  if (checked && !fits(&own)) return 1;
  const int past = own.bags * WIDTH > (1 << 23);
  for (int64_t bag = 0; bag < own.bags; bag++) {
    lanes sum[VECTORS];
    for (int p = 0; p < VECTORS; p++) sum[p] = (lanes){0};
    for (int64_t l = own.offsets[bag], end = own.offsets[bag + 1]; l < end; l++) {
      ask(&own, l);
      const int64_t row = own.indices[l];
#pragma GCC unroll 16
      for (int turn = 0; turn < VECTORS; turn++) {
        const int p = QUANTISED ? turn : part(turn, VECTORS);
        lanes x = row_part(own.table + row * WIDTH + 16 * p);
        if (QUANTISED) x = x * own.scales[2 * row] + own.scales[2 * row + 1];
        if (WEIGHTED) x = x * own.weights[l];
        sum[p] = sum[p] + x;
      }
    }
    for (int p = 0; p < VECTORS; p++) put(own.out + bag * WIDTH + 16 * p, sum[p], past);
  }
  return 0;
}

// The same rows read in the same order, and nothing else.
int bound(const int64_t *sizes, void *const *tensors, int checked) {
  typedef int32_t bits __attribute__((vector_size(64), aligned(4), may_alias));
  typedef int32_t word __attribute__((may_alias));
  const call own = of(sizes, tensors);
  (void)checked;
  bits all = {0};
  int32_t scales = 0;
  for (int64_t l = 0; l < own.lookups; l++) {
    ask(&own, l);
    const char *row = (const char *)(own.table + own.indices[l] * WIDTH);
    const int lines = (WIDTH * (int)sizeof(element) + 63) / 64;
    for (int turn = 0; turn < lines; turn++) all |= *(const bits *)(row + 64 * part(turn, lines));
    if (QUANTISED) scales |= *(const word *)(own.scales + 2 * own.indices[l]);
  }
  all[0] |= scales;
  *(bits *)own.out = all;
  return 0;
}

//// load
static inline $V load_$V(const $T *p) { return *(const $V *)p; }

//// store
static inline void store_$V($T *p, $V x) { *($V *)p = x; }

//// store_past
// Writes a vector past the caches if that is asked for: a line that is written as a whole is not read from memory before.
static inline void store_past_$V($T *p, $V x, int past) {
  typedef float whole __attribute__((vector_size(sizeof($V)), may_alias));
  if (!past || (uintptr_t)p % sizeof($V) != 0) store_$V(p, x);
#if defined __clang__ && defined __x86_64__
  else __builtin_nontemporal_store((whole)x, (whole *)p);
#elif defined $FEATURE
  else __builtin_ia32_$STORE((float *)p, (whole)x);
#else
  else store_$V(p, x);
#endif
}

//// past_written
// What was written past the caches becomes visible to others before what is written later. Threads that share a loop need
// none: the locked instructions with which they wait for each other at its end do the same.
static inline void past_written(void) {
#if defined __x86_64__
  __builtin_ia32_sfence();
#endif
}

//// load_first
// The lanes below `active`; the others are 0.
static inline $V load_first_$V(const $T *p, int64_t active) {
  if (active >= $N) return load_$V(p);
  const $H low = load_first_$H(p, active), high = active > $N / 2 ? load_first_$H(p + $N / 2, active - $N / 2) : ($H){0};
  return __builtin_shufflevector(low, high, $I);
}

//// load_first of two
static inline $V load_first_$V(const $T *p, int64_t active) {
  return ($V){active > 0 ? p[0] : 0, active > 1 ? p[1] : 0};
}

//// store_first
// Writes the lanes below `active`.
static inline void store_first_$V($T *p, $V x, int64_t active) {
  if (active >= $N) {
    store_$V(p, x);
    return;
  }
  store_first_$H(p, __builtin_shufflevector(x, x, $A), active);
  if (active > $N / 2) store_first_$H(p + $N / 2, __builtin_shufflevector(x, x, $B), active - $N / 2);
}

//// store_first of two
static inline void store_first_$V($T *p, $V x, int64_t active) {
  if (active > 0) p[0] = x[0];
  if (active > 1) p[1] = x[1];
}

//// least
static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

//// splat
static inline $V splat_$V($T x) {
  $V y;
  for (int k = 0; k < $N; k++) y[k] = x;
  return y;
}

//// count
// The lanes `from`, `from` + 1, …
static inline $V count_$V(int64_t from) {
  $V y;
  for (int k = 0; k < $N; k++) y[k] = from + k;
  return y;
}

//// choose
// Both numbers are there before one is chosen, so that no load depends on the condition: gcc 12 turns such loads into
// masked ones, and gets "r = c ? a : b; r < 0 ? -r : r" on integers wrong.
static inline $T choose_$S(_Bool c, $T a, $T b) { return c ? a : b; }

//// select
static inline $V select_$V($M m, $V a, $V b) {
  return ($V)((($M)a & m) | (($M)b & ~m));
}

//// max float
// The maximum of IEEE 754-2019: NaN wins, and +0 is greater than -0.
static inline $T max_$S($T a, $T b) {
  return a == b ? (signbit(a) ? b : a) : a > b || a != a ? a : b;
}

//// max float lanes
// The maximum of IEEE 754-2019: NaN wins, and +0 is greater than -0.
static inline $V max_$V($V a, $V b) {
  const $M equal = ($M)(a == b), first = ($M)(a > b) | ($M)(a != a);
  const $M x = ($M)a, y = ($M)b;
  return ($V)((equal & x & y) | (~equal & ((x & first) | (y & ~first))));
}

//// min float
// The minimum of IEEE 754-2019: NaN wins, and -0 is less than +0.
static inline $T min_$S($T a, $T b) {
  return a == b ? (signbit(a) ? a : b) : a < b || a != a ? a : b;
}

//// min float lanes
// The minimum of IEEE 754-2019: NaN wins, and -0 is less than +0.
static inline $V min_$V($V a, $V b) {
  const $M equal = ($M)(a == b), first = ($M)(a < b) | ($M)(a != a);
  const $M x = ($M)a, y = ($M)b;
  return ($V)((equal & (x | y)) | (~equal & ((x & first) | (y & ~first))));
}

//// max
static inline $T max_$S($T a, $T b) { return a > b ? a : b; }

//// max lanes
static inline $V max_$V($V a, $V b) { return select_$V(($M)(a > b), a, b); }

//// min
static inline $T min_$S($T a, $T b) { return a < b ? a : b; }

//// min lanes
static inline $V min_$V($V a, $V b) { return select_$V(($M)(a < b), a, b); }

//// div
// The truncated quotient, which wraps; by zero it is 0.
static inline $T div_$S($T a, $T b) { return b == 0 ? 0 : b == -1 ? 0 - a : a / b; }

//// pow
// The product of `exponent` factors, which wraps; a negative exponent truncates towards 0.
static inline $T pow_$S($T base, $T exponent) {
  if (exponent < 0 && base != 1 && base != -1) return 0;
  $T product = 1, square = base;
  for (uint64_t rest = exponent < 0 ? 0 - (uint64_t)exponent : (uint64_t)exponent; rest > 0; rest /= 2) {
    if (rest % 2 == 1) product *= square;
    square *= square;
  }
  return product;
}

//// replaceable
$T (*$P_$O_$S)($T) = $O$L;
static inline $T $O_$S($T x) { return $P_$O_$S(x); }

//// replaceable of two
$T (*$P_$O_$S)($T, $T) = $O$L;
static inline $T $O_$S($T a, $T b) { return $P_$O_$S(a, b); }

//// sqrt
static inline $T sqrt_$S($T x) { return sqrt$L(x); }

//// rsqrt
static inline $T rsqrt_$S($T x) { return 1 / sqrt$L(x); }

//// of lanes
static inline $T $O_$S($T x) { return $O_$Sx4(($Sx4){x})[0]; }

//// each lane
static inline $V $O_$V($V x) {
  $V y;
  for (int k = 0; k < $N; k++) y[k] = $O_$S(x[k]);
  return y;
}

//// each lane of two
static inline $V $O_$V($V a, $V b) {
  $V y;
  for (int k = 0; k < $N; k++) y[k] = $O_$S(a[k], b[k]);
  return y;
}

//// truncate
// The integer nearest towards 0; beyond the ends of its type the end, and 0 of NaN.
static inline $T $S_of_$O($K x) {
  if (x != x) return 0;
  return x <= ($K)$LEAST ? $LEAST : x >= ($K)$MOST ? $MOST : ($T)x;
}

//// f32_of_bf16
static inline float f32_of_bf16(uint16_t x) {
  const uint32_t bits = (uint32_t)x << 16;
  float y;
  memcpy(&y, &bits, sizeof y);
  return y;
}

//// bf16_of_f32
static inline uint16_t bf16_of_f32(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  if (x != x) return (uint16_t)(bits >> 16 | 64);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

//// bf16_of_f64
// Rounded once: what binary32 cannot hold is rounded to the neighbour with an odd last bit, which never lies halfway
// between two numbers of bf16.
static inline uint16_t bf16_of_f64(double x) {
  float y = (float)x;
  if (x == x && (double)y != x) {
    uint32_t bits;
    memcpy(&bits, &y, sizeof bits);
    if ((y < 0 ? -y : y) > (x < 0 ? -x : x)) bits--;
    bits |= 1;
    memcpy(&y, &bits, sizeof y);
  }
  return bf16_of_f32(y);
}

//// bf16_of_i64
// Rounded once: of a number that binary64 cannot hold, one bit says whether there were others below it.
static inline uint16_t bf16_of_i64(int64_t x) {
  const int64_t held = (int64_t)1 << 53;
  if (x > held || x < -held) x = (x & ~(int64_t)0xfff) | ((x & 0xfff) != 0) << 11;
  return bf16_of_f64((double)x);
}

//// by_lane
static inline $V $F($G x) {
  $V y;
  for (int k = 0; k < $N; k++) y[k] = $E;
  return y;
}

//// lanes_of_bf16
static inline $V lanes_of_bf16_$V(u16x$N x) {
  return ($V)(__builtin_convertvector(x, i32x$N) << 16);
}

//// lanes_to_bf16
static inline u16x$N lanes_to_bf16_$V($V x) {
  const i32x$N bits = (i32x$N)x, none = (i32x$N)(x != x);
  const i32x$N rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return __builtin_convertvector((none & (bits >> 16 | 64)) | (~none & rounded), u16x$N);
}

//// lanes_of_bytes
// Lanes of bytes as integers of 32 bits. Of itself gcc would widen them one by one.
static inline i32x$N i32_of_$V($V x) {
#if !defined __clang__ && defined __AVX512F__ && $N == 16
  typedef char bytes __attribute__((vector_size(16)));
  return (i32x$N)__builtin_ia32_pmov$Xxbd512_mask((bytes)x, (i32x$N){0}, -1);
#elif !defined __clang__ && defined __AVX2__ && $N == 8
  typedef char bytes __attribute__((vector_size(16)));
  typedef long long half __attribute__((vector_size(8), may_alias));
  return (i32x$N)__builtin_ia32_pmov$Xxbd256((bytes)__builtin_shufflevector((half)x, (half){0}, 0, 1));
#else
  typedef $W words __attribute__((vector_size(2 * $N)));
  return __builtin_convertvector(__builtin_convertvector(x, words), i32x$N);
#endif
}

//// lanes_of_f16
// Lanes of binary16 as binary32. Of itself gcc would convert them one by one.
static inline $V lanes_of_f16_$V(f16x$N x) {
#if !defined __clang__ && defined __AVX512F__ && $N == 16
  typedef short halves __attribute__((vector_size(32)));
  return ($V)__builtin_ia32_vcvtph2ps512_mask((halves)x, ($V){0}, -1, 4);
#elif !defined __clang__ && defined __F16C__ && $N == 8
  typedef short halves __attribute__((vector_size(16)));
  return ($V)__builtin_ia32_vcvtph2ps256((halves)x);
#else
  return __builtin_convertvector(x, $V);
#endif
}

//// lanes_to_f16
// Lanes of binary32, each rounded to the nearest in binary16.
static inline f16x$N lanes_to_f16_$V($V x) {
#if !defined __clang__ && defined __AVX512F__ && $N == 16
  typedef short halves __attribute__((vector_size(32)));
  return (f16x$N)__builtin_ia32_vcvtps2ph512_mask(x, 0, (halves){0}, -1);
#elif !defined __clang__ && defined __F16C__ && $N == 8
  return (f16x$N)__builtin_ia32_vcvtps2ph256(x, 0);
#else
  return __builtin_convertvector(x, f16x$N);
#endif
}

//// load_u4
// Two elements a byte, the earlier in the low half.
static inline uint8_t load_u4(const uint8_t *p, int64_t at) { return p[at / 2] >> at % 2 * 4 & 15; }

//// load_first_u4
static inline $V load_first_u4_$V(const uint8_t *p, int64_t at, int64_t active) {
  $V x = {0};
  for (int k = 0; k < $N && k < active; k++) x[k] = load_u4(p, at + k);
  return x;
}

//// store_u4
static inline void store_u4(uint8_t *p, int64_t at, uint8_t x) {
  const int shift = (int)(at % 2 * 4);
  p[at / 2] = (uint8_t)((p[at / 2] & 240 >> shift) | (x & 15) << shift);
}

//// fold
// Lanes folded to one, half onto half.
static inline $T fold_$O_$S_$N(const $T *lanes) {
  $T x[$N];
  memcpy(x, lanes, sizeof x);
  for (int n = $N; n > 1;) {
    const int half = (n + 1) / 2;
    for (int k = 0; k + half < n; k++) x[k] = $E;
    n = half;
  }
  return x[0];
}

//// fold of halves
// Lanes folded to one, half onto half.
static inline $T fold_$O_$S_$W($T const *lanes) {
  enum { k = 0, half = 1 };
  const $V x[2] = {load_$V(lanes), load_$V(lanes + $N)}, folded = $E;
  return fold_$O_$S_$N((const $T *)&folded);
}

//// fold of vectors
// Vectors folded to one, half onto half, and then its lanes.
static inline $T fold_$O_$S_$L_of_$C($T const *lanes) {
  $V x[$C];
  for (int k = 0; k < $C; k++) x[k] = load_$V(lanes + k * $N);
  for (int half = $C / 2; half > 0; half /= 2)
    for (int k = 0; k < half; k++) x[k] = $E;
  return fold_$O_$S_$N((const $T *)x);
}

//// abs
static inline $T abs_$S($T x) { return fabs$L(x); }

//// abs lanes
static inline $V abs_$V($V x) { return ($V)(($M)x & $MOST); }

//// exp f32 lanes
// The steps of the function `expf` of FreeBSD, musl and the crate libm, all lanes at once, so that it gives the same bits:
// 2^k times the exponential of the rest. The power is made of two factors, for it alone may be too large or too small.
static inline f32x$N $O_f32x$N(f32x$N x) {
  const i32x$N bits = (i32x$N)x & 0x7fffffff, negative = (i32x$N)x >> 31, zero = {0};
  const f32x$N in = (f32x$N)((i32x$N)x & (i32x$N)(bits < 0x42d00000));
  const f32x$N half = (f32x$N)((negative & (int32_t)0x80000000) | 0x3f000000);
  const i32x$N far = (i32x$N)(bits > 0x3f851592), some = (i32x$N)(bits > 0x3eb17218);
  const i32x$N nearest = __builtin_convertvector(in * 0x1.715476p+0f + half, i32x$N);
  const i32x$N k = some & ((far & nearest) | (~far & (negative | 1)));
  const f32x$N n = __builtin_convertvector(k, f32x$N);
  const f32x$N high = in - n * 0x1.62e4p-1f, low = n * 0x1.7f7d1cp-20f, r = high - low, square = r * r;
  const f32x$N c = r - square * (0x1.55551ep-3f + square * -0x1.6aa42ap-9f);
  f32x$N y = 1.0f + (r * c / (2.0f - c) - low + high);
  y = y * (f32x$N)(((k >> 1) + 127) << 23) * (f32x$N)((k - (k >> 1) + 127) << 23);
  y = select_f32x$N((i32x$N)(bits > 0x39000000), y, 1.0f + x);
  y = select_f32x$N(negative & (i32x$N)(bits >= 0x42cff1b5), (f32x$N)zero, y);
  y = select_f32x$N(~negative & (i32x$N)(bits >= 0x42b17218), splat_f32x$N(INFINITY), y);
  return select_f32x$N((i32x$N)(bits > 0x7f800000), x, y);
}

//// exp approximate
// exp within 2 units in the last place: 2^n times a polynomial of the rest, whose coefficients are those of Taylor. The
// power is made of two factors, for it alone may be too small.
static inline f32x$N approximate_exp_f32x$N(f32x$N x) {
  const f32x$N most = splat_f32x$N(89.0f), least = splat_f32x$N(-104.0f);
  const f32x$N in = select_f32x$N((i32x$N)(x > most), most, select_f32x$N((i32x$N)(x < least), least, x));
  // Adding and taking away 1.5 * 2^23 rounds to the nearest integer.
  const f32x$N rounded = (in * 0x1.715476p+0f + 0x1.8p+23f) - 0x1.8p+23f;
  const f32x$N n = select_f32x$N((i32x$N)(x == x), rounded, splat_f32x$N(0.0f));
  const f32x$N r = in - n * 0x1.62e4p-1f - n * 0x1.7f7d1cp-20f;
  f32x$N y = splat_f32x$N(0x1.a01a02p-13f);
  y = y * r + 0x1.6c16c2p-10f;
  y = y * r + 0x1.111112p-7f;
  y = y * r + 0x1.555556p-5f;
  y = y * r + 0x1.555556p-3f;
  y = y * r + 0.5f;
  y = y * r * r + r + 1.0f;
  const i32x$N power = __builtin_convertvector(n, i32x$N), half = power >> 1;
  return y * (f32x$N)((half + 127) << 23) * (f32x$N)((power - half + 127) << 23);
}

//// fetch
// Asks for the cache lines of some bytes, to be had in the cache of a level. A word or two lie in one line; whole lines of
// bytes lie in one line more if they do not begin with one, as in memory that `malloc` returns. Always inlined: a compiler
// may take a function that only asks for one without effects, and drop its calls.
static inline __attribute__((always_inline)) void fetch_line(const char *p, int level) {
  if (level == 1) __builtin_prefetch(p, 0, 3);
  else if (level == 2) __builtin_prefetch(p, 0, 2);
  else __builtin_prefetch(p, 0, 1);
}
static inline __attribute__((always_inline)) void fetch(const void *tensor, const void *p, int64_t bytes, int level) {
  const int64_t from = (const char *)p - (const char *)tensor;
  for (int64_t at = 0; at < bytes; at += 64) fetch_line((const char *)p + at, level);
  if (bytes % 64 == 0 && from % 64 == 0 ? (uintptr_t)tensor % 64 != 0 : bytes > 8)
    fetch_line((const char *)p + bytes - 1, level);
}

//// transpose
// Writes the transpose of a square of as many rows as a vector has lanes. Interleaving the vectors of the first half with
// those of the second one moves each bit of an element's place on by one, from the row to the lane.
static inline void transpose_$V($T *to, int64_t to_row, const $T *from, int64_t from_row) {
  $V x[$N], y[$N];
  for (int k = 0; k < $N; k++) x[k] = load_$V(from + k * from_row);
#pragma GCC unroll 6
  for (int stage = 1; stage < $N; stage *= 2) {
    for (int k = 0; k < $N / 2; k++) {
      y[2 * k] = __builtin_shufflevector(x[k], x[k + $N / 2], $A);
      y[2 * k + 1] = __builtin_shufflevector(x[k], x[k + $N / 2], $B);
    }
    for (int k = 0; k < $N; k++) x[k] = y[k];
  }
  for (int k = 0; k < $N; k++) store_$V(to + k * to_row, x[k]);
}

//// matmul
// The edge of a product, where a vector has lanes to spare. Written out in every block it would take most of the time of
// the compiler.
static __attribute__((noinline)) $V edge_$V(const $T *p, int64_t active) { return load_first_$V(p, active); }
static __attribute__((noinline)) void store_edge_$V($T *p, $V x, int64_t active) { store_first_$V(p, x, active); }

// One block of rows by columns: adds the products over `k` in order. The panel of the right operand is packed.
static inline __attribute__((always_inline)) void block_$S($T *restrict out, const $T *restrict a, const $T *restrict panel,
    int rows, int64_t columns, int64_t k, int64_t a_row, int64_t out_row, int first) {
  $V sum[6][2];
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < 2; c++)
      if (first) sum[r][c] = splat_$V(0);
      else if (columns >= (c + 1) * $N) sum[r][c] = load_$V(out + r * out_row + c * $N);
      else sum[r][c] = edge_$V(out + r * out_row + c * $N, columns - c * $N);
  for (int64_t at = 0; at < k; at++) {
    // The rows of the next block may be far away.
    if (at % (int64_t)(64 / sizeof($T)) == 0)
      for (int r = 0; r < rows; r++) __builtin_prefetch(a + (r + rows) * a_row + at);
    const $V left = load_$V(panel + at * 2 * $N), right = load_$V(panel + at * 2 * $N + $N);
    for (int r = 0; r < rows; r++) {
      sum[r][0] = sum[r][0] + a[r * a_row + at] * left;
      sum[r][1] = sum[r][1] + a[r * a_row + at] * right;
    }
  }
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < 2; c++)
      if (columns >= (c + 1) * $N) store_$V(out + r * out_row + c * $N, sum[r][c]);
      else store_edge_$V(out + r * out_row + c * $N, sum[r][c], columns - c * $N);
}

// The product of an m x k and a k x n matrix, or of one by a transposed n x k matrix. Each element is a sum over k in
// order, from +0.
static void matmul_$S($T *restrict out, const $T *restrict a, const $T *restrict b, int64_t m, int64_t k, int64_t n,
    int transposed) {
  enum { DEPTH = 256, COLUMNS = 2 * $N };
  $T panel[DEPTH * COLUMNS];
  if (k == 0) memset(out, 0, (size_t)(m * n) * sizeof($T));
  for (int64_t j = 0; j < n; j += COLUMNS) {
    const int64_t columns = n - j < COLUMNS ? n - j : COLUMNS;
    for (int64_t from = 0; from < k; from += DEPTH) {
      const int64_t depth = k - from < DEPTH ? k - from : DEPTH;
      if (columns < COLUMNS) memset(panel, 0, sizeof panel);
      if (transposed) {
        const int64_t whole = depth / $N * $N;
        for (int64_t c = 0; c < columns; c++) {
          const $T *row = b + (j + c) * k + from;
          const int square = columns - c / $N * $N >= $N;
          for (int64_t at = 0; square && c % $N == 0 && at < whole; at += $N)
            transpose_$V(panel + at * COLUMNS + c, COLUMNS, row + at, k);
          for (int64_t at = square ? whole : 0; at < depth; at++) panel[at * COLUMNS + c] = row[at];
        }
      } else {
        for (int64_t at = 0; at < depth; at++)
          memcpy(panel + at * COLUMNS, b + (from + at) * n + j, (size_t)columns * sizeof($T));
      }
      int64_t i = 0;
      for (; i + 6 <= m; i += 6)
        block_$S(out + i * n + j, a + i * k + from, panel, 6, columns, depth, k, n, from == 0);
      if (i + 4 <= m) {
        block_$S(out + i * n + j, a + i * k + from, panel, 4, columns, depth, k, n, from == 0);
        i += 4;
      }
      for (; i < m; i++)
        block_$S(out + i * n + j, a + i * k + from, panel, 1, columns, depth, k, n, from == 0);
    }
  }
}

//// swapped
// The vector of a looked-up row that is read in a turn: so many change places with as many after them. To the processor,
// lines in ascending order are the beginning of more, which it fetches and nobody reads.
static inline int swapped(int turn, int vectors, int by) {
  const int rest = vectors % (2 * by), within = turn % (2 * by);
  return turn < vectors - rest ? turn - within + (within + by) % (2 * by) : turn;
}

//// part
// Where a part of `n` iterations starts, each of `step` rows.
static int64_t part_i64(int64_t n, int64_t step, int64_t part, int64_t parts) {
  const int64_t all = n / step + (n % step != 0);
  const int64_t first = (all / parts * part + all % parts * part / parts) * step;
  return first < n ? first : n;
}

//// cut
// Where a part of `n` rows starts, if all parts have as many rows and elements together: by bisection.
static int64_t cut_$S(const $T *offsets, int64_t n, int64_t part, int64_t parts) {
  if (part == 0) return 0;
  const int64_t all = offsets[n] - offsets[0] + n;
  const int64_t share = all / parts * part + all % parts * part / parts;
  int64_t from = 0, to = n;
  while (part < parts && from < to) {
    const int64_t middle = from + (to - from) / 2;
    if (offsets[middle] - offsets[0] + middle < share) from = middle + 1;
    else to = middle;
  }
  return to;
}

//// below
static int below_$S(const $T *x, int64_t n, int64_t below) {
  uint64_t most = 0;
  for (int64_t k = 0; k < n; k++) most = (uint64_t)(int64_t)x[k] > most ? (uint64_t)(int64_t)x[k] : most;
  return n == 0 || most < (uint64_t)below;
}

//// partition
static int partition_$S(const $T *x, int64_t n, int64_t end) {
  int falls = 0;
  for (int64_t k = 1; k < n; k++) falls |= x[k] < x[k - 1];
  return n > 0 && x[0] == 0 && x[n - 1] == end && !falls;
}

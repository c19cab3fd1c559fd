func.func @k() {
  // ÿþ
  return
}

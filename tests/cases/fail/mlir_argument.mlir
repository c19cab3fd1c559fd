func.func @k(%x: vector<4xf32>) {
  return
}

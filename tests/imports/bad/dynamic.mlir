module @m {
  func.func public @main(%arg0: tensor<4x?xf32>) -> tensor<4xf32> {
    return %arg0 : tensor<4xf32>
  }
}

module @m {
  func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.cbrt %arg0 : tensor<4xf32> loc("x")
    return %0 : tensor<4xf32>
  }
}

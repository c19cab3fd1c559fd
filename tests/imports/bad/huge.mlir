module @m {
  func.func public @main(%arg0: tensor<4xf32>) -> tensor<1099511627776x1099511627776xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0] : (tensor<4xf32>) -> tensor<1099511627776x1099511627776xf32>
    return %0 : tensor<1099511627776x1099511627776xf32>
  }
}

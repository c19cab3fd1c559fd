(model m (input x f32 (n 4)) (output out
  (nn.relu(nn.relu(nn.relu(nn.relu(nn.relu(nn.relu(nn.relu(nn.relu(nn.relu(nn.relu(nn.relu
  (nn.relu(nn.relu(nn.relu(nn.relu(nn.relu(nn.relu(nn.relu(nn.relu(nn.relu(nn.relu(nn.relu
  (nn.relu(nn.relu(nn.relu(nn.relu(nn.relu(nn.relu(nn.relu(nn.relu(nn.relu(nn.relu(nn.relu x
  )))))))))))))))))))))))))))))))))))

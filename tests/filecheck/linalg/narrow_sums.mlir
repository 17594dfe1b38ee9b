// RUN: unmess-opt --pipeline linalg %s | filecheck %s

// torch-mlir sums the products of a convolution of i32 in i64. Only the lower 32 bits are read.
// CHECK-LABEL: func.func @convolution(
// CHECK:         %[[ZEROS:.*]] = linalg.fill ins(%{{.*}} : i32)
// CHECK:         %[[SUMS:.*]] = linalg.conv_2d_nchw_fchw {{.*}} outs(%[[ZEROS]] : tensor<1x3x4x4xi32>)
// CHECK:         return %[[SUMS]]
func.func @convolution(%x: !torch.vtensor<[1,2,6,6],si32>, %w: !torch.vtensor<[3,2,3,3],si32>) -> !torch.vtensor<[1,3,4,4],si32> {
  %none = torch.constant.none
  %false = torch.constant.bool false
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %0 = torch.prim.ListConstruct %int1, %int1 : (!torch.int, !torch.int) -> !torch.list<int>
  %1 = torch.prim.ListConstruct %int0, %int0 : (!torch.int, !torch.int) -> !torch.list<int>
  %2 = torch.aten.convolution %x, %w, %none, %0, %1, %0, %false, %1, %int1 : !torch.vtensor<[1,2,6,6],si32>, !torch.vtensor<[3,2,3,3],si32>, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool, !torch.list<int>, !torch.int -> !torch.vtensor<[1,3,4,4],si32>
  return %2 : !torch.vtensor<[1,3,4,4],si32>
}

// Not changed: sums that start at other numbers, are read in i64, or are narrowed to i16.
// CHECK-LABEL: func.func @kept(
// CHECK-COUNT-3: linalg.matmul {{.*}} outs(%{{.*}} : tensor<2x2xi64>)
#same = affine_map<(m, n) -> (m, n)>
func.func @kept(%x: tensor<2x3xi32>, %y: tensor<3x2xi32>, %z: tensor<3x2xi32>, %init: tensor<2x2xi64>) -> (tensor<2x2xi32>, tensor<2x2xi32>, tensor<2x2xi64>, tensor<2x2xi16>) {
  %zero = arith.constant 0 : i64
  %empty64 = tensor.empty() : tensor<2x2xi64>
  %empty32 = tensor.empty() : tensor<2x2xi32>
  %empty16 = tensor.empty() : tensor<2x2xi16>
  %zeros = linalg.fill ins(%zero : i64) outs(%empty64 : tensor<2x2xi64>) -> tensor<2x2xi64>
  %0 = linalg.matmul ins(%x, %y : tensor<2x3xi32>, tensor<3x2xi32>) outs(%init : tensor<2x2xi64>) -> tensor<2x2xi64>
  %1 = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<2x2xi64>) outs(%empty32 : tensor<2x2xi32>) {
  ^bb0(%in: i64, %out: i32):
    %t = arith.trunci %in : i64 to i32
    linalg.yield %t : i32
  } -> tensor<2x2xi32>
  %2 = linalg.matmul ins(%x, %y : tensor<2x3xi32>, tensor<3x2xi32>) outs(%zeros : tensor<2x2xi64>) -> tensor<2x2xi64>
  %3 = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<2x2xi64>) outs(%empty32 : tensor<2x2xi32>) {
  ^bb0(%in: i64, %out: i32):
    %t = arith.trunci %in : i64 to i32
    linalg.yield %t : i32
  } -> tensor<2x2xi32>
  %4 = linalg.matmul ins(%x, %z : tensor<2x3xi32>, tensor<3x2xi32>) outs(%zeros : tensor<2x2xi64>) -> tensor<2x2xi64>
  %5 = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%4 : tensor<2x2xi64>) outs(%empty16 : tensor<2x2xi16>) {
  ^bb0(%in: i64, %out: i16):
    %t = arith.trunci %in : i64 to i16
    linalg.yield %t : i16
  } -> tensor<2x2xi16>
  return %1, %3, %2, %5 : tensor<2x2xi32>, tensor<2x2xi32>, tensor<2x2xi64>, tensor<2x2xi16>
}

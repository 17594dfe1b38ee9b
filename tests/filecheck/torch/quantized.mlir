// RUN: unmess-opt --pipeline torch %s | filecheck %s

// Quantization operators of a graph become those of the torch dialect. Scale and zero point are
// operands, and values are clamped to the bounds.

// CHECK-LABEL: func.func @main
// CHECK-NOT:     torch.operator
// CHECK:         torch.aten.quantize_per_tensor
// CHECK-NEXT:    torch.aten.int_repr
// CHECK-NEXT:    torch.aten.clamp
// CHECK:         torch.aten._make_per_tensor_quantized_tensor
// CHECK-NEXT:    torch.aten.dequantize.tensor
func.func @main(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %scale = torch.constant.float 5.000000e-01
  %zero = torch.constant.int 3
  %min = torch.constant.int -128
  %max = torch.constant.int 127
  %type = torch.constant.int 1
  %0 = torch.operator "torch.quantized_decomposed.quantize_per_tensor"(%x, %scale, %zero, %min, %max, %type) : (!torch.vtensor<[4],f32>, !torch.float, !torch.int, !torch.int, !torch.int, !torch.int) -> !torch.vtensor<[4],si8>
  %1 = torch.operator "torch.quantized_decomposed.dequantize_per_tensor"(%0, %scale, %zero, %min, %max, %type) : (!torch.vtensor<[4],si8>, !torch.float, !torch.int, !torch.int, !torch.int, !torch.int) -> !torch.vtensor<[4],f32>
  return %1 : !torch.vtensor<[4],f32>
}

// RUN: unmess-opt --pipeline no-value-checks %s | filecheck %s

// Operations that only a value check uses are removed with it. The model's own assertion stays.
// CHECK-LABEL: func.func @checked
// CHECK-NEXT:    %[[NUMBER:.*]] = torch.aten.item
// CHECK-NEXT:    torch.constant.int 3
// CHECK-NEXT:    torch.aten.eq.int
// CHECK-NEXT:    torch.runtime.assert %{{.*}}, "the model's own"
// CHECK-NEXT:    return
func.func @checked(%x: !torch.vtensor<[],si64>, %y: !torch.vtensor<[],si64>) -> !torch.vtensor<[],si64> {
  %0 = torch.aten.item %x : !torch.vtensor<[],si64> -> !torch.int
  %three = torch.constant.int 3
  %1 = torch.aten.eq.int %0, %three : !torch.int, !torch.int -> !torch.bool
  torch.runtime.assert %1, "the model's own"
  %2 = torch.aten.item %y : !torch.vtensor<[],si64> -> !torch.int
  %3 = torch.aten.eq.int %2, %three : !torch.int, !torch.int -> !torch.bool
  torch.runtime.assert %3, "invalid value: a probability is not in 0 to 1"
  return %x : !torch.vtensor<[],si64>
}

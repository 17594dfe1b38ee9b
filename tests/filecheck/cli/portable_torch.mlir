// RUN: not unmess portable %s | filecheck %s

// Types are counted by name, without their parameters.
// CHECK:      type !torch.vtensor, on 4 operations
// CHECK:      operation torch.aten.relu, 1 time
// CHECK-NEXT:   at: {{.*}}:13
// CHECK-NEXT:   removable: yes
// CHECK:      operation torch.aten.sinh, 1 time
// CHECK-NEXT:   at: {{.*}}:14
// CHECK:        cause: `!"torch"<"vtensor<[4],f32>">` type created with unregistered dialect
// CHECK-NEXT:   hint: {{.*}} accepts the result of `unmess-opt --pipeline torch --pipeline linalg --pipeline upstream`
func.func @main(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %0 = torch.aten.relu %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %1 = torch.aten.sinh %0 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %1 : !torch.vtensor<[4],f32>
}

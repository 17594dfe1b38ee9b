// RUN: not unmess contract --json %s | filecheck %s
// RUN: unmess contract --json --backend-legal-op aten.t %s | filecheck %s --check-prefix KEPT

// CHECK:      "ok": false
// CHECK:      "violations": [
// CHECK:        "kind": "not decomposed"
// CHECK-NEXT:   "operation": "aten.t"
// CHECK-NEXT:   "detail": "of vtensor<[2,3],f32>"
// CHECK-NEXT:   "where": "user.py:7"

// KEPT:       "ok": true
// KEPT:       "violations": []
func.func @main(%x: !torch.vtensor<[2,3],f32>) -> !torch.vtensor<[3,2],f32> {
  %0 = torch.aten.t %x : !torch.vtensor<[2,3],f32> -> !torch.vtensor<[3,2],f32> loc("user.py":7:0)
  return %0 : !torch.vtensor<[3,2],f32>
}

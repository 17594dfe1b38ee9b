func.func @main(%x: !torch.vtensor<[3],i1>) -> !torch.vtensor<[3],i1> {
  %r = torch.aten.maximum %x, %x : !torch.vtensor<[3],i1>, !torch.vtensor<[3],i1> -> !torch.vtensor<[3],i1>
  return %r : !torch.vtensor<[3],i1>
}

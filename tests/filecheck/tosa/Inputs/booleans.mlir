func.func @main(%x: !torch.vtensor<[3],i1>) -> !torch.vtensor<[3],i1> {
  %dim = torch.constant.int 0
  %descending = torch.constant.bool false
  %values, %places = torch.aten.sort %x, %dim, %descending : !torch.vtensor<[3],i1>, !torch.int, !torch.bool -> !torch.vtensor<[3],i1>, !torch.vtensor<[3],si64>
  return %values : !torch.vtensor<[3],i1>
}

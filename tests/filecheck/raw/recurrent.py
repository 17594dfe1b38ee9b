# RUN: unmess-each %s linalg | filecheck %s --check-prefixes CHECK,LINALG
# RUN: unmess-each %s tosa | filecheck %s --check-prefixes CHECK,TOSA
# RUN: unmess-each %s stablehlo | filecheck %s --check-prefixes CHECK,STABLEHLO

# A recurrent layer is one loop per layer and direction, whatever the number of steps. Before the
# loop, one product of all inputs (300 steps and a batch of 2) with the weights; in it, the product
# of the state (a batch of 2).

import torch

# CHECK-LABEL: layers:
# CHECK:       note: decomposition: recurrent layers (aten::gru.input)

# LINALG:      linalg.matmul {{.*}} -> tensor<600x15xf32>
# LINALG:      scf.for
# LINALG-NOT:  linalg.matmul {{.*}}tensor<600
# LINALG:      linalg.matmul {{.*}} -> tensor<2x15xf32>
# LINALG-NOT:  linalg.matmul
# LINALG:      scf.yield
# LINALG:      linalg.matmul {{.*}} -> tensor<600x15xf32>
# LINALG:      scf.for
# LINALG-NOT:  linalg.matmul {{.*}}tensor<600
# LINALG:      linalg.matmul {{.*}} -> tensor<2x15xf32>
# LINALG-NOT:  scf.for
# LINALG-NOT:  linalg.matmul

# TOSA:        tosa.matmul {{.*}} -> tensor<1x600x15xf32>
# TOSA:        tosa.while_loop
# TOSA:        tosa.matmul {{.*}} -> tensor<1x2x15xf32>
# TOSA-NOT:    tosa.matmul
# TOSA:        tosa.yield
# TOSA:        tosa.matmul {{.*}} -> tensor<1x600x15xf32>
# TOSA:        tosa.while_loop
# TOSA:        tosa.matmul {{.*}} -> tensor<1x2x15xf32>
# TOSA-NOT:    tosa.while_loop
# TOSA-NOT:    tosa.matmul

# STABLEHLO:     stablehlo.dot_general {{.*}} -> tensor<600x15xf32>
# STABLEHLO:     stablehlo.while
# STABLEHLO:     stablehlo.dot_general {{.*}} -> tensor<2x15xf32>
# STABLEHLO-NOT: stablehlo.dot_general
# STABLEHLO:     stablehlo.scatter
# STABLEHLO:     stablehlo.dot_general {{.*}} -> tensor<600x15xf32>
# STABLEHLO:     stablehlo.while
# STABLEHLO:     stablehlo.dot_general {{.*}} -> tensor<2x15xf32>
# STABLEHLO-NOT: stablehlo.while
# STABLEHLO-NOT: stablehlo.dot_general


def layers():
    return torch.nn.GRU(4, 5, bidirectional=True).eval(), (torch.randn(300, 2, 4),)

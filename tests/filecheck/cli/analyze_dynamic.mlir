// RUN: %python -m unmess analyze %s | filecheck %s --check-prefix=UNKNOWN
// RUN: %python -m unmess analyze %s --size x.0=8 | filecheck %s --check-prefix=KNOWN
// RUN: not %python -m unmess analyze %s --size rows=8 2>&1 | filecheck %s --check-prefix=WRONG

// A dynamic size is a symbol. The report names its axis and the option that sets it.

// UNKNOWN:      one call: 4·x.0 FLOP; 16·x.0 B read, 16·x.0 B written
// UNKNOWN-NEXT:   size x.0 is unknown: pass --size x.0=N (axis 0 of argument 0)
// UNKNOWN-NEXT: memory: inputs 16·x.0 B, results 16·x.0 B, peak of temporaries depends on unknown sizes

// KNOWN:      one call: 32 FLOP; 128 B read, 128 B written; 0.125 FLOP/B
// KNOWN-NEXT:   size x.0 = 8 (axis 0 of argument 0)
// KNOWN-NEXT:   FLOPs at any size: 4·x.0

// WRONG:      usage: the program has no dynamic size 'rows'
// WRONG-NEXT: hint: use one of x.0

func.func @main(%x: tensor<?x4xf32> {unmess.input = "x"}) -> tensor<?x4xf32> {
  %0 = arith.negf %x : tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// Elementary functions on f32 in terms of additions, products and selections, which LLVM makes vector
// code of. The C library's functions are called once for each element.
//
// Coefficients are minimax fits of this project's own, rounded to f32. Products and sums that are
// marked `contract` become fused multiply-adds where the processor has them.

// 2^n e^r, where x = n log 2 + r and |r| <= log(2)/2. Error below 1.1 units in the last place.
func.func private @exp(%x: f32) -> f32 {
  // Beyond these bounds the result is 0 or infinite. Comparisons with NaN are false, and keep it.
  %lowest = arith.constant -1.05e+02 : f32
  %highest = arith.constant 8.9e+01 : f32
  %is_low = arith.cmpf olt, %x, %lowest : f32
  %above = arith.select %is_low, %lowest, %x : f32
  %is_high = arith.cmpf ogt, %above, %highest : f32
  %within = arith.select %is_high, %highest, %above : f32

  // Adding 1.5 * 2^23 + 254 rounds to an integer, and the low bits are then n + 254.
  %shift = arith.constant 12583166.0 : f32
  %log2e = arith.constant 1.44269502 : f32
  %scaled = arith.mulf %within, %log2e fastmath<contract> : f32
  %shifted = arith.addf %scaled, %shift fastmath<contract> : f32
  %n = arith.subf %shifted, %shift : f32

  // log 2 in two parts, of which the first has so few bits that its product with n is exact.
  %minus_log2_high = arith.constant -0.693145752 : f32
  %minus_log2_low = arith.constant -1.42860677E-6 : f32
  %high = arith.mulf %n, %minus_log2_high fastmath<contract> : f32
  %partly = arith.addf %within, %high fastmath<contract> : f32
  %low = arith.mulf %n, %minus_log2_low fastmath<contract> : f32
  %r = arith.addf %partly, %low fastmath<contract> : f32

  %c6 = arith.constant 0.00138131424 : f32
  %c5 = arith.constant 0.00836941879 : f32
  %c4 = arith.constant 0.0416684560 : f32
  %c3 = arith.constant 0.166665152 : f32
  %c2 = arith.constant 0.499999940 : f32
  %one = arith.constant 1.0 : f32
  %m5 = arith.mulf %c6, %r fastmath<contract> : f32
  %p5 = arith.addf %m5, %c5 fastmath<contract> : f32
  %m4 = arith.mulf %p5, %r fastmath<contract> : f32
  %p4 = arith.addf %m4, %c4 fastmath<contract> : f32
  %m3 = arith.mulf %p4, %r fastmath<contract> : f32
  %p3 = arith.addf %m3, %c3 fastmath<contract> : f32
  %m2 = arith.mulf %p3, %r fastmath<contract> : f32
  %p2 = arith.addf %m2, %c2 fastmath<contract> : f32
  %square = arith.mulf %r, %r : f32
  %m1 = arith.mulf %p2, %square fastmath<contract> : f32
  %p1 = arith.addf %m1, %r fastmath<contract> : f32
  %power = arith.addf %p1, %one : f32

  // 2^n in two factors, so that no step but the last one leaves the range of normal numbers. The
  // second one is 2^64 or 2^-64, with the sign of x in its exponent; its bits have a bias of 127, too.
  %bits = arith.bitcast %shifted : f32 to i32
  %mantissa = arith.constant 23 : i32
  %both = arith.shli %bits, %mantissa : i32
  %one_bit = arith.constant 1 : i32
  %sign_bit = arith.constant 0x40000000 : i32
  %large = arith.constant 0x5F800000 : i32
  %x_bits = arith.bitcast %x : f32 to i32
  %x_halved = arith.shrui %x_bits, %one_bit : i32
  %sign = arith.andi %x_halved, %sign_bit : i32
  %second_bits = arith.xori %sign, %large : i32
  %first_bits = arith.subi %both, %second_bits : i32
  %first = arith.bitcast %first_bits : i32 to f32
  %second = arith.bitcast %second_bits : i32 to f32
  %partial = arith.mulf %power, %first : f32
  %result = arith.mulf %partial, %second : f32
  return %result : f32
}

// Below 0.92: x + x p(x²). Above: 1 - e^-q(|x|), where q fits -log erfc.
func.func private @erf(%x: f32) -> f32 {
  %absolute = math.absf %x : f32
  %t = arith.mulf %x, %x : f32
  %c6 = arith.constant 8.37009720E-5 : f32
  %c5 = arith.constant -8.14270345E-4 : f32
  %c4 = arith.constant 0.00520103239 : f32
  %c3 = arith.constant -0.0268593989 : f32
  %c2 = arith.constant 0.112836957 : f32
  %c1 = arith.constant -0.376126349 : f32
  %c0 = arith.constant 0.128379166 : f32
  %m5 = arith.mulf %c6, %t fastmath<contract> : f32
  %p5 = arith.addf %m5, %c5 fastmath<contract> : f32
  %m4 = arith.mulf %p5, %t fastmath<contract> : f32
  %p4 = arith.addf %m4, %c4 fastmath<contract> : f32
  %m3 = arith.mulf %p4, %t fastmath<contract> : f32
  %p3 = arith.addf %m3, %c3 fastmath<contract> : f32
  %m2 = arith.mulf %p3, %t fastmath<contract> : f32
  %p2 = arith.addf %m2, %c2 fastmath<contract> : f32
  %m1 = arith.mulf %p2, %t fastmath<contract> : f32
  %p1 = arith.addf %m1, %c1 fastmath<contract> : f32
  %m0 = arith.mulf %p1, %t fastmath<contract> : f32
  %p0 = arith.addf %m0, %c0 fastmath<contract> : f32
  %m = arith.mulf %x, %p0 fastmath<contract> : f32
  %near = arith.addf %m, %x fastmath<contract> : f32

  // From 4 on erf is 1 in f32.
  %four = arith.constant 4.0 : f32
  %a = arith.minnumf %absolute, %four : f32
  %d6 = arith.constant 1.95822824E-4 : f32
  %d5 = arith.constant -0.00304209464 : f32
  %d4 = arith.constant 0.0222224426 : f32
  %d3 = arith.constant -0.103922307 : f32
  %d2 = arith.constant -0.637192845 : f32
  %d1 = arith.constant -1.12766933 : f32
  %d0 = arith.constant -1.97199013E-4 : f32
  %l5 = arith.mulf %d6, %a fastmath<contract> : f32
  %q5 = arith.addf %l5, %d5 fastmath<contract> : f32
  %l4 = arith.mulf %q5, %a fastmath<contract> : f32
  %q4 = arith.addf %l4, %d4 fastmath<contract> : f32
  %l3 = arith.mulf %q4, %a fastmath<contract> : f32
  %q3 = arith.addf %l3, %d3 fastmath<contract> : f32
  %l2 = arith.mulf %q3, %a fastmath<contract> : f32
  %q2 = arith.addf %l2, %d2 fastmath<contract> : f32
  %l1 = arith.mulf %q2, %a fastmath<contract> : f32
  %q1 = arith.addf %l1, %d1 fastmath<contract> : f32
  %l0 = arith.mulf %q1, %a fastmath<contract> : f32
  %q0 = arith.addf %l0, %d0 fastmath<contract> : f32
  %complement = func.call @exp(%q0) : (f32) -> f32
  %one = arith.constant 1.0 : f32
  %magnitude = arith.subf %one, %complement : f32
  %far = math.copysign %magnitude, %x : f32

  // NaN is not greater, and `near` keeps it.
  %bound = arith.constant 0.921875 : f32
  %is_far = arith.cmpf ogt, %absolute, %bound : f32
  %result = arith.select %is_far, %far, %near : f32
  return %result : f32
}

// Below 0.625: x + x x² p(x²). Above: 1 - 2 / (e^2|x| + 1).
func.func private @tanh(%x: f32) -> f32 {
  %absolute = math.absf %x : f32
  %t = arith.mulf %x, %x : f32
  %c4 = arith.constant -0.00570497848 : f32
  %c3 = arith.constant 0.0206390787 : f32
  %c2 = arith.constant -0.0537397116 : f32
  %c1 = arith.constant 0.133314416 : f32
  %c0 = arith.constant -0.333332807 : f32
  %m3 = arith.mulf %c4, %t fastmath<contract> : f32
  %p3 = arith.addf %m3, %c3 fastmath<contract> : f32
  %m2 = arith.mulf %p3, %t fastmath<contract> : f32
  %p2 = arith.addf %m2, %c2 fastmath<contract> : f32
  %m1 = arith.mulf %p2, %t fastmath<contract> : f32
  %p1 = arith.addf %m1, %c1 fastmath<contract> : f32
  %m0 = arith.mulf %p1, %t fastmath<contract> : f32
  %p0 = arith.addf %m0, %c0 fastmath<contract> : f32
  %cube = arith.mulf %t, %x : f32
  %m = arith.mulf %cube, %p0 fastmath<contract> : f32
  %near = arith.addf %m, %x fastmath<contract> : f32

  %twice = arith.addf %absolute, %absolute : f32
  %power = func.call @exp(%twice) : (f32) -> f32
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %sum = arith.addf %power, %one : f32
  %quotient = arith.divf %two, %sum : f32
  %magnitude = arith.subf %one, %quotient : f32

  // NaN is not greater, and `near` keeps it.
  %bound = arith.constant 6.25e-01 : f32
  %is_far = arith.cmpf ogt, %absolute, %bound : f32
  %chosen = arith.select %is_far, %magnitude, %near : f32
  %result = math.copysign %chosen, %x : f32
  return %result : f32
}

// tanh(x/2) (e^x + 1), which is as accurate next to zero. Error below 4 units in the last place.
func.func private @expm1(%x: f32) -> f32 {
  %half = arith.constant 5.0e-01 : f32
  %halved = arith.mulf %x, %half : f32
  %quotient = func.call @tanh(%halved) : (f32) -> f32
  %power = func.call @exp(%x) : (f32) -> f32
  %one = arith.constant 1.0 : f32
  %sum = arith.addf %power, %one : f32
  %result = arith.mulf %quotient, %sum : f32
  return %result : f32
}

// The runtime: it calls compiled programs, and has the functions that they call. It is in the LLVM
// dialect, and is compiled once in each process.
//
// Each call of a program has a record on the stack of the calling thread. The record starts a list of
// all memory blocks that the program has allocated. When a check fails, at any depth of function
// calls, longjmp returns to `run`, which frees the list. So programs need no clean-up code, and do not
// test for failures after calls. The blocks that are in the list when a program returns are its
// results.

!block = !llvm.struct<(
  ptr,              // 0: the next block
  ptr,              // 1: the previous block
  ptr,              // 2: the address that malloc returned
  ptr               // 3: padding to 32 bytes
)>
!call = !llvm.struct<(
  !block,           // 0: the first and the last block; this record itself, if the list is empty
  i64,              // 1: the number of the failed check; -1: none; -2: an interrupt
  i64,              // 2: for a failed allocation, the number of requested bytes
  i32,              // 3: 1 if an interrupt ends the call, otherwise 0
  i32,              // 4: 1 while an interrupt must wait: in malloc, which locks, or while the list changes
  i32,              // 5: 1 if an interrupt waits
  array<64 x i64>,  // 6: jmp_buf: with glibc 200 bytes on x86-64, 312 on aarch64
  ptr               // 7: the record of the enclosing call in the same thread, if this call is a part of it
)>
!parts = !llvm.struct<(
  ptr,              // 0: the function that computes a part
  ptr,              // 1: its operands, the same for all parts
  i64,              // 2: the number of parts
  i64,              // 3: the number of a failed check in a part, or -1
  i64,              // 4: for a failed allocation, the number of requested bytes
  ptr               // 5: the record of the call that waits for the parts
)>
!part = !llvm.struct<(
  i64,              // 0: the index of the part
  ptr               // 1: the operands
)>
!sigaction = !llvm.struct<(ptr, array<16 x i64>, i32, ptr)>

llvm.func @malloc(i64) -> !llvm.ptr
llvm.func @free(!llvm.ptr)
llvm.func @_setjmp(!llvm.ptr) -> i32 attributes {passthrough = ["returns_twice"]}
llvm.func @longjmp(!llvm.ptr, i32) attributes {passthrough = ["noreturn"]}
llvm.func @sigaction(i32, !llvm.ptr, !llvm.ptr) -> i32
llvm.func @pthread_key_create(!llvm.ptr, !llvm.ptr) -> i32
llvm.func @pthread_getspecific(i32) -> !llvm.ptr
llvm.func @pthread_setspecific(i32, !llvm.ptr) -> i32

// The key of the thread-specific value that is the current record. The JIT has no thread-local
// variables.
llvm.mlir.global internal @key(0 : i32) : i32
// The handler of interrupts while no program runs: Python's. Only the main thread writes it.
llvm.mlir.global internal @outer_action() : !sigaction {
  %zero = llvm.mlir.zero : !sigaction
  llvm.return %zero : !sigaction
}
llvm.mlir.global internal @own_action() : !sigaction {
  %zero = llvm.mlir.zero : !sigaction
  %handler = llvm.mlir.addressof @interrupt : !llvm.ptr
  // SA_SIGINFO, and SA_NODEFER: longjmp would leave the signal blocked.
  %flags = llvm.mlir.constant(0x40000004 : i32) : i32
  %0 = llvm.insertvalue %handler, %zero[0] : !sigaction
  %1 = llvm.insertvalue %flags, %0[2] : !sigaction
  llvm.return %1 : !sigaction
}

// OpenMP's functions; null without OpenMP.
llvm.mlir.global internal @with_team() : !llvm.ptr {
  %null = llvm.mlir.zero : !llvm.ptr
  llvm.return %null : !llvm.ptr
}
llvm.mlir.global internal @own_number() : !llvm.ptr {
  %null = llvm.mlir.zero : !llvm.ptr
  llvm.return %null : !llvm.ptr
}
llvm.mlir.global internal @team_size() : !llvm.ptr {
  %null = llvm.mlir.zero : !llvm.ptr
  llvm.return %null : !llvm.ptr
}

// Initializes the runtime. Writes the addresses that Python and programs need: run, allocate, free,
// fail, do_parts. Reads the addresses of GOMP_parallel, omp_get_thread_num and
// omp_get_num_threads, which follow them.
llvm.func @start(%addresses: !llvm.ptr) {
  %null = llvm.mlir.zero : !llvm.ptr
  %key = llvm.mlir.addressof @key : !llvm.ptr
  %status = llvm.call @pthread_key_create(%key, %null) : (!llvm.ptr, !llvm.ptr) -> i32
  %run = llvm.mlir.addressof @run : !llvm.ptr
  %allocate = llvm.mlir.addressof @allocate : !llvm.ptr
  %free = llvm.mlir.addressof @deallocate : !llvm.ptr
  %fail = llvm.mlir.addressof @fail : !llvm.ptr
  llvm.store %run, %addresses : !llvm.ptr, !llvm.ptr
  %1 = llvm.getelementptr %addresses[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  llvm.store %allocate, %1 : !llvm.ptr, !llvm.ptr
  %2 = llvm.getelementptr %addresses[2] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  llvm.store %free, %2 : !llvm.ptr, !llvm.ptr
  %3 = llvm.getelementptr %addresses[3] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  llvm.store %fail, %3 : !llvm.ptr, !llvm.ptr
  %4 = llvm.getelementptr %addresses[4] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %do_parts = llvm.mlir.addressof @do_parts : !llvm.ptr
  llvm.store %do_parts, %4 : !llvm.ptr, !llvm.ptr
  %5 = llvm.getelementptr %addresses[5] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %with_team = llvm.load %5 : !llvm.ptr -> !llvm.ptr
  %with_team_place = llvm.mlir.addressof @with_team : !llvm.ptr
  llvm.store %with_team, %with_team_place : !llvm.ptr, !llvm.ptr
  %6 = llvm.getelementptr %addresses[6] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %own_number = llvm.load %6 : !llvm.ptr -> !llvm.ptr
  %own_number_place = llvm.mlir.addressof @own_number : !llvm.ptr
  llvm.store %own_number, %own_number_place : !llvm.ptr, !llvm.ptr
  %7 = llvm.getelementptr %addresses[7] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %team_size = llvm.load %7 : !llvm.ptr -> !llvm.ptr
  %team_size_place = llvm.mlir.addressof @team_size : !llvm.ptr
  llvm.store %team_size, %team_size_place : !llvm.ptr, !llvm.ptr
  llvm.return
}

// Calls a program.
//   function: takes an array of pointers to arguments and results, as MLIR's packed interface does.
//   report: receives fields 1 and 2 of the call's record.
//   interruptible: whether SIGINT ends the call; only in the main thread.
llvm.func @run(%function: !llvm.ptr, %arguments: !llvm.ptr, %report: !llvm.ptr, %interruptible: i32) {
  %zero = llvm.mlir.constant(0 : i32) : i32
  %one = llvm.mlir.constant(1 : i32) : i32
  %sigint = llvm.mlir.constant(2 : i32) : i32
  %passed = llvm.mlir.constant(-1 : i64) : i64
  %interrupted = llvm.mlir.constant(-2 : i64) : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %own = llvm.mlir.addressof @own_action : !llvm.ptr
  %outer = llvm.mlir.addressof @outer_action : !llvm.ptr
  %call = llvm.alloca %one x !call : (i32) -> !llvm.ptr
  %last = llvm.getelementptr %call[0, 0, 1] : (!llvm.ptr) -> !llvm.ptr, !call
  %check = llvm.getelementptr %call[0, 1] : (!llvm.ptr) -> !llvm.ptr, !call
  %amount = llvm.getelementptr %call[0, 2] : (!llvm.ptr) -> !llvm.ptr, !call
  %ends = llvm.getelementptr %call[0, 3] : (!llvm.ptr) -> !llvm.ptr, !call
  %busy = llvm.getelementptr %call[0, 4] : (!llvm.ptr) -> !llvm.ptr, !call
  %waiting = llvm.getelementptr %call[0, 5] : (!llvm.ptr) -> !llvm.ptr, !call
  %buffer = llvm.getelementptr %call[0, 6] : (!llvm.ptr) -> !llvm.ptr, !call
  %around = llvm.getelementptr %call[0, 7] : (!llvm.ptr) -> !llvm.ptr, !call
  %outer_call = llvm.call @current() : () -> !llvm.ptr
  llvm.store %outer_call, %around : !llvm.ptr, !llvm.ptr
  %has_signals = llvm.icmp "ne" %interruptible, %zero : i32
  llvm.store %call, %call : !llvm.ptr, !llvm.ptr
  llvm.store %call, %last : !llvm.ptr, !llvm.ptr
  llvm.store %passed, %check : i64, !llvm.ptr
  llvm.store %interruptible, %ends : i32, !llvm.ptr
  llvm.store %one, %busy : i32, !llvm.ptr
  llvm.store %zero, %waiting : i32, !llvm.ptr
  llvm.call @enter(%call) : (!llvm.ptr) -> ()
  llvm.cond_br %has_signals, ^take_signals, ^set_mark
^take_signals:
  %5 = llvm.call @sigaction(%sigint, %own, %outer) : (i32, !llvm.ptr, !llvm.ptr) -> i32
  llvm.br ^set_mark
^set_mark:
  %jumped = llvm.call @_setjmp(%buffer) : (!llvm.ptr) -> i32
  %first = llvm.icmp "eq" %jumped, %zero : i32
  llvm.cond_br %first, ^work, ^end
^work:
  llvm.call @unlock(%call) : (!llvm.ptr) -> ()
  llvm.call %function(%arguments) : !llvm.ptr, (!llvm.ptr) -> ()
  llvm.br ^end
^end:
  llvm.call @lock(%call) : (!llvm.ptr) -> ()
  llvm.cond_br %has_signals, ^give_signals_back, ^leave
^give_signals_back:
  %6 = llvm.call @sigaction(%sigint, %outer, %null) : (i32, !llvm.ptr, !llvm.ptr) -> i32
  llvm.br ^leave
^leave:
  %back = llvm.load %around : !llvm.ptr -> !llvm.ptr
  llvm.call @enter(%back) : (!llvm.ptr) -> ()
  %late = llvm.load volatile %waiting : !llvm.ptr -> i32
  %is_late = llvm.icmp "ne" %late, %zero : i32
  %in_time = llvm.load %check : !llvm.ptr -> i64
  %outcome = llvm.select %is_late, %interrupted, %in_time : i1, i64
  %known = llvm.load %amount : !llvm.ptr -> i64
  llvm.store %outcome, %report : i64, !llvm.ptr
  %second = llvm.getelementptr %report[1] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %known, %second : i64, !llvm.ptr
  %is_good = llvm.icmp "eq" %outcome, %passed : i64
  %start = llvm.load %call : !llvm.ptr -> !llvm.ptr
  llvm.cond_br %is_good, ^done, ^blocks(%start : !llvm.ptr)
^blocks(%block: !llvm.ptr):
  %is_end = llvm.icmp "eq" %block, %call : !llvm.ptr
  llvm.cond_br %is_end, ^done, ^drop
^drop:
  %following = llvm.load %block : !llvm.ptr -> !llvm.ptr
  %place = llvm.getelementptr %block[0, 2] : (!llvm.ptr) -> !llvm.ptr, !block
  %allocated = llvm.load %place : !llvm.ptr -> !llvm.ptr
  llvm.call @free(%allocated) : (!llvm.ptr) -> ()
  llvm.br ^blocks(%following : !llvm.ptr)
^done:
  llvm.return
}

// Computes all parts of an operation, with a team of threads if there is OpenMP.
//   function: takes a `!part`.
llvm.func @do_parts(%function: !llvm.ptr, %operands: !llvm.ptr, %count: i64) {
  %zero = llvm.mlir.constant(0 : i32) : i32
  %one = llvm.mlir.constant(1 : i32) : i32
  %passed = llvm.mlir.constant(-1 : i64) : i64
  %unknown = llvm.mlir.constant(0 : i64) : i64
  %next = llvm.mlir.constant(1 : i64) : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %parts = llvm.alloca %one x !parts : (i32) -> !llvm.ptr
  %part = llvm.alloca %one x !part : (i32) -> !llvm.ptr
  %1 = llvm.getelementptr %parts[0, 1] : (!llvm.ptr) -> !llvm.ptr, !parts
  %2 = llvm.getelementptr %parts[0, 2] : (!llvm.ptr) -> !llvm.ptr, !parts
  %3 = llvm.getelementptr %parts[0, 3] : (!llvm.ptr) -> !llvm.ptr, !parts
  %4 = llvm.getelementptr %parts[0, 4] : (!llvm.ptr) -> !llvm.ptr, !parts
  llvm.store %function, %parts : !llvm.ptr, !llvm.ptr
  llvm.store %operands, %1 : !llvm.ptr, !llvm.ptr
  llvm.store %count, %2 : i64, !llvm.ptr
  llvm.store %passed, %3 : i64, !llvm.ptr
  llvm.store %unknown, %4 : i64, !llvm.ptr
  %place = llvm.mlir.addressof @with_team : !llvm.ptr
  %with_team = llvm.load %place : !llvm.ptr -> !llvm.ptr
  %alone = llvm.icmp "eq" %with_team, %null : !llvm.ptr
  llvm.cond_br %alone, ^by_itself(%unknown : i64), ^together
^by_itself(%index: i64):
  %done = llvm.icmp "eq" %index, %count : i64
  llvm.cond_br %done, ^end, ^do
^do:
  %5 = llvm.getelementptr %part[0, 1] : (!llvm.ptr) -> !llvm.ptr, !part
  llvm.store %index, %part : i64, !llvm.ptr
  llvm.store %operands, %5 : !llvm.ptr, !llvm.ptr
  llvm.call %function(%part) : !llvm.ptr, (!llvm.ptr) -> ()
  %following = llvm.add %index, %next : i64
  llvm.br ^by_itself(%following : i64)
^together:
  // An interrupt waits until the team has finished: its other threads use the memory of this call.
  %whole = llvm.call @current() : () -> !llvm.ptr
  llvm.call @lock(%whole) : (!llvm.ptr) -> ()
  %6 = llvm.getelementptr %parts[0, 5] : (!llvm.ptr) -> !llvm.ptr, !parts
  llvm.store %whole, %6 : !llvm.ptr, !llvm.ptr
  %member = llvm.mlir.addressof @member : !llvm.ptr
  // 0 threads: as many as PyTorch uses.
  llvm.call %with_team(%member, %parts, %zero, %zero) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, i32, i32) -> ()
  %failed = llvm.load %3 : !llvm.ptr -> i64
  %known = llvm.load %4 : !llvm.ptr -> i64
  %is_good = llvm.icmp "eq" %failed, %passed : i64
  llvm.cond_br %is_good, ^look_up, ^fail
^look_up:
  llvm.call @unlock(%whole) : (!llvm.ptr) -> ()
  llvm.br ^end
^end:
  llvm.return
^fail:
  llvm.call @fail(%failed, %known) : (i64, i64) -> ()
  llvm.unreachable
}

// Computes the parts of one thread of a team. Each part is a call of its own, so that a failure stays
// in the thread. After an interrupt, it begins no other part.
llvm.func internal @member(%parts: !llvm.ptr) {
  %zero = llvm.mlir.constant(0 : i32) : i32
  %one = llvm.mlir.constant(1 : i32) : i32
  %two = llvm.mlir.constant(2 : i32) : i32
  %passed = llvm.mlir.constant(-1 : i64) : i64
  %part = llvm.alloca %one x !part : (i32) -> !llvm.ptr
  %report = llvm.alloca %two x i64 : (i32) -> !llvm.ptr
  %1 = llvm.getelementptr %parts[0, 1] : (!llvm.ptr) -> !llvm.ptr, !parts
  %2 = llvm.getelementptr %parts[0, 2] : (!llvm.ptr) -> !llvm.ptr, !parts
  %3 = llvm.getelementptr %parts[0, 3] : (!llvm.ptr) -> !llvm.ptr, !parts
  %4 = llvm.getelementptr %parts[0, 4] : (!llvm.ptr) -> !llvm.ptr, !parts
  %function = llvm.load %parts : !llvm.ptr -> !llvm.ptr
  %operands = llvm.load %1 : !llvm.ptr -> !llvm.ptr
  %count = llvm.load %2 : !llvm.ptr -> i64
  %5 = llvm.getelementptr %part[0, 1] : (!llvm.ptr) -> !llvm.ptr, !part
  llvm.store %operands, %5 : !llvm.ptr, !llvm.ptr
  %6 = llvm.mlir.addressof @own_number : !llvm.ptr
  %7 = llvm.mlir.addressof @team_size : !llvm.ptr
  %8 = llvm.getelementptr %parts[0, 5] : (!llvm.ptr) -> !llvm.ptr, !parts
  %whole = llvm.load %8 : !llvm.ptr -> !llvm.ptr
  %waiting = llvm.getelementptr %whole[0, 5] : (!llvm.ptr) -> !llvm.ptr, !call
  %own_number = llvm.load %6 : !llvm.ptr -> !llvm.ptr
  %team_size = llvm.load %7 : !llvm.ptr -> !llvm.ptr
  %number = llvm.call %own_number() : !llvm.ptr, () -> i32
  %size = llvm.call %team_size() : !llvm.ptr, () -> i32
  %first = llvm.zext %number : i32 to i64
  %step = llvm.zext %size : i32 to i64
  llvm.br ^loop(%first : i64)
^loop(%index: i64):
  %in_range = llvm.icmp "slt" %index, %count : i64
  llvm.cond_br %in_range, ^look, ^end
^look:
  %interrupted = llvm.load volatile %waiting : !llvm.ptr -> i32
  %goes_on = llvm.icmp "eq" %interrupted, %zero : i32
  llvm.cond_br %goes_on, ^do, ^end
^do:
  llvm.store %index, %part : i64, !llvm.ptr
  llvm.call @run(%function, %part, %report, %zero) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i32) -> ()
  %outcome = llvm.load %report : !llvm.ptr -> i64
  %is_good = llvm.icmp "eq" %outcome, %passed : i64
  %following = llvm.add %index, %step : i64
  llvm.cond_br %is_good, ^loop(%following : i64), ^tell
^tell:
  %9 = llvm.getelementptr %report[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %known = llvm.load %9 : !llvm.ptr -> i64
  llvm.store %known, %4 : i64, !llvm.ptr
  llvm.store %outcome, %3 : i64, !llvm.ptr
  llvm.br ^end
^end:
  llvm.return
}

// Allocates memory for programs, aligned to 64 bytes. `check` is the number to report if it fails.
llvm.func @allocate(%bytes: i64, %check: i64) -> !llvm.ptr {
  %most = llvm.mlir.constant(0x7fffffffffffff00 : i64) : i64
  // 64 bytes for DLPack's structure, which Python writes if the block is a result
  // (`execution/dlpack.py`), the size of `!block`, and at most 63 bytes for the alignment.
  %extra = llvm.mlir.constant(159 : i64) : i64
  %mask = llvm.mlir.constant(-64 : i64) : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %call = llvm.call @current() : () -> !llvm.ptr
  %is_absurd = llvm.icmp "ugt" %bytes, %most : i64
  llvm.cond_br %is_absurd, ^fail, ^try
^try:
  llvm.call @lock(%call) : (!llvm.ptr) -> ()
  %total = llvm.add %bytes, %extra : i64
  %allocated = llvm.call @malloc(%total) : (i64) -> !llvm.ptr
  %is_none = llvm.icmp "eq" %allocated, %null : !llvm.ptr
  llvm.cond_br %is_none, ^fail, ^link
^link:
  %address = llvm.ptrtoint %allocated : !llvm.ptr to i64
  %end = llvm.add %address, %extra : i64
  %aligned = llvm.and %end, %mask : i64
  %data = llvm.inttoptr %aligned : i64 to !llvm.ptr
  %block = llvm.getelementptr %data[-1] : (!llvm.ptr) -> !llvm.ptr, !block
  %before = llvm.getelementptr %block[0, 1] : (!llvm.ptr) -> !llvm.ptr, !block
  %place = llvm.getelementptr %block[0, 2] : (!llvm.ptr) -> !llvm.ptr, !block
  %first = llvm.load %call : !llvm.ptr -> !llvm.ptr
  %before_first = llvm.getelementptr %first[0, 1] : (!llvm.ptr) -> !llvm.ptr, !block
  llvm.store %first, %block : !llvm.ptr, !llvm.ptr
  llvm.store %call, %before : !llvm.ptr, !llvm.ptr
  llvm.store %allocated, %place : !llvm.ptr, !llvm.ptr
  llvm.store %block, %before_first : !llvm.ptr, !llvm.ptr
  llvm.store %block, %call : !llvm.ptr, !llvm.ptr
  llvm.call @unlock(%call) : (!llvm.ptr) -> ()
  llvm.return %data : !llvm.ptr
^fail:
  llvm.call @fail(%check, %bytes) : (i64, i64) -> ()
  llvm.unreachable
}

// Frees memory for programs.
llvm.func @deallocate(%data: !llvm.ptr) {
  %call = llvm.call @current() : () -> !llvm.ptr
  %block = llvm.getelementptr %data[-1] : (!llvm.ptr) -> !llvm.ptr, !block
  %before = llvm.getelementptr %block[0, 1] : (!llvm.ptr) -> !llvm.ptr, !block
  llvm.call @lock(%call) : (!llvm.ptr) -> ()
  %next = llvm.load %block : !llvm.ptr -> !llvm.ptr
  %previous = llvm.load %before : !llvm.ptr -> !llvm.ptr
  %before_next = llvm.getelementptr %next[0, 1] : (!llvm.ptr) -> !llvm.ptr, !block
  llvm.store %next, %previous : !llvm.ptr, !llvm.ptr
  llvm.store %previous, %before_next : !llvm.ptr, !llvm.ptr
  %place = llvm.getelementptr %block[0, 2] : (!llvm.ptr) -> !llvm.ptr, !block
  %allocated = llvm.load %place : !llvm.ptr -> !llvm.ptr
  llvm.call @free(%allocated) : (!llvm.ptr) -> ()
  llvm.call @unlock(%call) : (!llvm.ptr) -> ()
  llvm.return
}

// Ends the call of the program.
llvm.func @fail(%number: i64, %known: i64) attributes {passthrough = ["noreturn"]} {
  %one = llvm.mlir.constant(1 : i32) : i32
  %call = llvm.call @current() : () -> !llvm.ptr
  %check = llvm.getelementptr %call[0, 1] : (!llvm.ptr) -> !llvm.ptr, !call
  %amount = llvm.getelementptr %call[0, 2] : (!llvm.ptr) -> !llvm.ptr, !call
  %buffer = llvm.getelementptr %call[0, 6] : (!llvm.ptr) -> !llvm.ptr, !call
  llvm.store %number, %check : i64, !llvm.ptr
  llvm.store %known, %amount : i64, !llvm.ptr
  llvm.call @longjmp(%buffer, %one) : (!llvm.ptr, i32) -> ()
  llvm.unreachable
}

// Handles SIGINT.
llvm.func internal @interrupt(%signal: i32, %info: !llvm.ptr, %context: !llvm.ptr) {
  %zero = llvm.mlir.constant(0 : i32) : i32
  %one = llvm.mlir.constant(1 : i32) : i32
  %ignore = llvm.mlir.constant(1 : i64) : i64
  %known = llvm.mlir.constant(0 : i64) : i64
  %interrupted = llvm.mlir.constant(-2 : i64) : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %outer = llvm.mlir.addressof @outer_action : !llvm.ptr
  %call = llvm.call @current() : () -> !llvm.ptr
  %is_idle = llvm.icmp "eq" %call, %null : !llvm.ptr
  llvm.cond_br %is_idle, ^pass_on, ^in_call
^in_call:
  %ends = llvm.getelementptr %call[0, 3] : (!llvm.ptr) -> !llvm.ptr, !call
  %interruptible = llvm.load %ends : !llvm.ptr -> i32
  %goes_on = llvm.icmp "eq" %interruptible, %zero : i32
  llvm.cond_br %goes_on, ^in_part, ^end_call
^in_part:
  %around = llvm.getelementptr %call[0, 7] : (!llvm.ptr) -> !llvm.ptr, !call
  %whole = llvm.load %around : !llvm.ptr -> !llvm.ptr
  %is_whole = llvm.icmp "eq" %whole, %null : !llvm.ptr
  llvm.cond_br %is_whole, ^pass_on, ^ask_whole
^ask_whole:
  %whole_ends = llvm.getelementptr %whole[0, 3] : (!llvm.ptr) -> !llvm.ptr, !call
  %ends_whole = llvm.load %whole_ends : !llvm.ptr -> i32
  %nobody = llvm.icmp "eq" %ends_whole, %zero : i32
  llvm.cond_br %nobody, ^pass_on, ^wait_for_parts
^wait_for_parts:
  %whole_waiting = llvm.getelementptr %whole[0, 5] : (!llvm.ptr) -> !llvm.ptr, !call
  llvm.store volatile %one, %whole_waiting : i32, !llvm.ptr
  llvm.return
^end_call:
  %busy = llvm.getelementptr %call[0, 4] : (!llvm.ptr) -> !llvm.ptr, !call
  %is = llvm.load volatile %busy : !llvm.ptr -> i32
  %is_busy = llvm.icmp "ne" %is, %zero : i32
  llvm.cond_br %is_busy, ^wait, ^jump
^wait:
  %waiting = llvm.getelementptr %call[0, 5] : (!llvm.ptr) -> !llvm.ptr, !call
  llvm.store volatile %one, %waiting : i32, !llvm.ptr
  llvm.return
^jump:
  llvm.call @fail(%interrupted, %known) : (i64, i64) -> ()
  llvm.unreachable
^pass_on:
  // The signal arrived in another thread.
  %handler = llvm.load %outer : !llvm.ptr -> !llvm.ptr
  %address = llvm.ptrtoint %handler : !llvm.ptr to i64
  %is_none = llvm.icmp "ule" %address, %ignore : i64
  llvm.cond_br %is_none, ^done, ^call
^call:
  llvm.call %handler(%signal, %info, %context) : !llvm.ptr, (i32, !llvm.ptr, !llvm.ptr) -> ()
  llvm.return
^done:
  llvm.return
}

// Makes interrupts wait. The handler runs in this thread, so a fence for the compiler is enough.
llvm.func internal @lock(%call: !llvm.ptr) attributes {always_inline} {
  %one = llvm.mlir.constant(1 : i32) : i32
  %busy = llvm.getelementptr %call[0, 4] : (!llvm.ptr) -> !llvm.ptr, !call
  llvm.store volatile %one, %busy : i32, !llvm.ptr
  llvm.fence syncscope("singlethread") seq_cst
  llvm.return
}

// Makes interrupts end the call: immediately, if one has waited.
llvm.func internal @unlock(%call: !llvm.ptr) attributes {always_inline} {
  %zero = llvm.mlir.constant(0 : i32) : i32
  %known = llvm.mlir.constant(0 : i64) : i64
  %interrupted = llvm.mlir.constant(-2 : i64) : i64
  %busy = llvm.getelementptr %call[0, 4] : (!llvm.ptr) -> !llvm.ptr, !call
  %waiting = llvm.getelementptr %call[0, 5] : (!llvm.ptr) -> !llvm.ptr, !call
  llvm.fence syncscope("singlethread") seq_cst
  llvm.store volatile %zero, %busy : i32, !llvm.ptr
  %waited = llvm.load volatile %waiting : !llvm.ptr -> i32
  %none = llvm.icmp "eq" %waited, %zero : i32
  llvm.cond_br %none, ^done, ^end_call
^end_call:
  llvm.call @fail(%interrupted, %known) : (i64, i64) -> ()
  llvm.unreachable
^done:
  llvm.return
}

// Returns the record of the call that runs in this thread, or null.
llvm.func internal @current() -> !llvm.ptr attributes {always_inline} {
  %place = llvm.mlir.addressof @key : !llvm.ptr
  %key = llvm.load %place : !llvm.ptr -> i32
  %call = llvm.call @pthread_getspecific(%key) : (i32) -> !llvm.ptr
  llvm.return %call : !llvm.ptr
}

llvm.func internal @enter(%call: !llvm.ptr) attributes {always_inline} {
  %place = llvm.mlir.addressof @key : !llvm.ptr
  %key = llvm.load %place : !llvm.ptr -> i32
  %status = llvm.call @pthread_setspecific(%key, %call) : (i32, !llvm.ptr) -> i32
  llvm.return
}

import sys

from benchmarks.operators.command import main

main(sys.argv[1:])

// RUN: not unmess-opt --pipeline lianlg %s 2>&1 | filecheck %s --check-prefix PIPELINE
// RUN: not unmess-opt --pipeline linalg --stop-after canonicalise %s 2>&1 | filecheck %s --check-prefix STOP
// RUN: not unmess-opt --pipeline linalg --stop-after cse:2 %s 2>&1 | filecheck %s --check-prefix NUMBER
// RUN: not unmess-opt --pipeline linalg --insert-pass cse %s 2>&1 | filecheck %s --check-prefix FORM
// RUN: not unmess-opt --pipeline linalg --insert-pass cse=convert-torch-to-lianlg %s 2>&1 | filecheck %s --check-prefix PASS
// RUN: not unmess-opt --pipeline linalg --insert-pass 'cse=canonicalize{top}' %s 2>&1 | filecheck %s --check-prefix OPTION
// RUN: not unmess-opt --pipeline reference-outline --stop-after cse %s 2>&1 | filecheck %s --check-prefix FUNCTION

// A misspelled name is an error before anything runs, with the nearest name as a hint.

// PIPELINE:      usage: unknown pipeline 'lianlg'
// PIPELINE-NEXT:   hint: did you mean linalg?
// STOP:          usage: there is no step canonicalise between start and linalg
// STOP-NEXT:       hint: did you mean canonicalize?
// NUMBER:        usage: there is no step cse:2 between start and linalg
// NUMBER-NEXT:     hint: cse occurs once
// FORM:          usage: --insert-pass 'cse' is not of the form AFTER=PASS
// PASS:          usage: 'convert-torch-to-lianlg' is not a pass: {{.*}} does not refer to a registered pass
// PASS-NEXT:       hint: did you mean convert-torch-to-linalg
// OPTION:        usage: 'canonicalize{top}' is not a pass
// FUNCTION:      usage: cannot insert passes into 'reference-outline' or stop in it: it is not a list of passes

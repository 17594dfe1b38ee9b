"""Generates texts with llama.cpp, in an environment that has only `xllamacpp`.

    python llama_cpp_server.py FILE.gguf CONTEXT THREADS

Prints a JSON object when the model is loaded. Then reads a line `[prompt, tokens]` for each text,
and prints an object with the text, the numbers of tokens of the prompt and of the text, and the
seconds for the prompt and for the tokens after the first one.
"""

import json
import sys

import xllamacpp


def main(model: str, context: str, threads: str) -> None:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = model
    parameters.n_ctx, parameters.n_parallel = int(context), 1
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = int(threads)
    server = xllamacpp.Server(parameters)
    print(json.dumps({"loaded": True}), flush=True)
    for line in sys.stdin:
        prompt, tokens = json.loads(line)
        asked = {"prompt": prompt, "max_tokens": tokens, "temperature": 0, "cache_prompt": False}
        answer = server.handle_completions(asked)
        timings = answer["timings"]
        result = {
            "text": answer["choices"][0]["text"],
            "prompt_tokens": timings["prompt_n"],
            "prompt_seconds": timings["prompt_ms"] / 1e3,
            "tokens": timings["predicted_n"],
            "seconds": timings["predicted_ms"] / 1e3,
        }
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

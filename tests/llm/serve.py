"""A program for the server's environment, which has none of the project's packages: ``serve.py MODEL THREADS``.

It puts a local model behind an OpenAI-compatible address of this machine, says that address, and ends with its input:
so it never outlives who started it.
"""

import os
import sys

import xllamacpp

given = xllamacpp.CommonParams()
given.model.path = sys.argv[1]
given.n_ctx = 8192
given.n_parallel = 1
given.cache_ram_mib = 0  # no conversations kept beside the one under way
given.cpuparams.n_threads = given.cpuparams_batch.n_threads = int(sys.argv[2])
given.verbosity = 0
server = xllamacpp.Server(given)
print(server.listening_address, flush=True)  # noqa: T201 - how the other side knows
sys.stdin.read()
os._exit(0)

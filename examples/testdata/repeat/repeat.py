"""Runs a Python program once for each line of stdin, in a process forked for it: faster than a new interpreter for each run.

    python3 repeat.py PROGRAM

A line of stdin is the JSON list of arguments. The line of stdout that answers it is the JSON list [exit code, stdout, stderr].
"""
import base64, binascii, datetime, gzip, hashlib, json, os, re, shutil, subprocess, sys, tempfile, zlib  # noqa: what programs import

with open(sys.argv[1], encoding="utf-8") as f:
    code = compile(f.read(), sys.argv[1], "exec")
for line in sys.stdin:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        child = os.fork()
        if child == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(errors.fileno(), 2)
            sys.argv[1:] = json.loads(line)
            exec(code, {"__name__": "__main__"})
            sys.exit(0)
        exit_code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        answer = [exit_code]
        for stream in (out, errors):
            stream.seek(0)
            answer.append(stream.read().decode())
        print(json.dumps(answer), flush=True)

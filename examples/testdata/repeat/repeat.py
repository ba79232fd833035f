"""Runs a Python program once for each line of stdin, in a process forked for it: faster than a new interpreter for each run.

    python3 repeat.py PROGRAM

A line of stdin is the JSON list of arguments. The line of stdout that answers it is the JSON list [exit code, stdout, stderr].
The statements of the program before the first one that reads sys.argv run once, before all forks: its definitions and tables.
"""
import ast, gc, json, os, sys, tempfile, traceback

with open(sys.argv[1], encoding="utf-8") as f:
    body = ast.parse(f.read(), sys.argv[1]).body
definitions = (ast.FunctionDef, ast.ClassDef)
first = next(i for i, s in enumerate(body) if not isinstance(s, definitions) and "attr='argv'" in ast.dump(s))
before, after = (compile(ast.Module(part, []), sys.argv[1], "exec") for part in (body[:first], body[first:]))
program = {"__name__": "__main__"}
exec(before, program)
gc.disable()  # a run ends before it needs much memory
for line in sys.stdin:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        child = os.fork()
        if child == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(errors.fileno(), 2)
            sys.argv[1:] = json.loads(line)
            code = 0
            try:
                exec(after, program)
            except SystemExit as e:
                code = e.code
            except BaseException:
                traceback.print_exc()
                code = 1
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)  # the process has nothing else to clean up
        exit_code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        answer = [exit_code]
        for stream in (out, errors):
            stream.seek(0)
            answer.append(stream.read().decode())
        print(json.dumps(answer), flush=True)

package examples_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// A verifier is one of the programs of examples/evidence. It runs as a command, or, between start and the end of the test, many times in
// one process, which takes a quarter of the time.
type verifier struct {
	file, repeat string
	// interpreter returns the path of a suitable interpreter; "" if there is none.
	interpreter func() string

	mu        sync.Mutex // for one run at a time
	requests  *json.Encoder
	responses *json.Decoder
}

// The programs print the path of the interpreter, or fail if it is not suitable. A python3 in the PATH may be a script that finds the
// interpreter.
var (
	nodePath = interpreterPath("node", "-e",
		"if (process.versions.node.split('.')[0] < 20) process.exit(1); console.log(process.execPath)")
	pythonPath = interpreterPath("python3", "-c", "import sys; sys.exit(1) if sys.version_info < (3, 11) else print(sys.executable)")
)

func interpreterPath(name string, probe ...string) func() string {
	return sync.OnceValue(func() string {
		out, err := exec.CommandContext(context.Background(), name, probe...).Output()
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(out))
	})
}

// newVerifiers returns both verifiers, as commands. It skips the test if an interpreter is not installed.
func newVerifiers(t *testing.T) (node, python *verifier) {
	t.Helper()
	node = &verifier{file: "evidence/verify.mjs", repeat: "testdata/repeat/repeat.mjs", interpreter: nodePath}
	python = &verifier{file: "evidence/verify.py", repeat: "testdata/repeat/repeat.py", interpreter: pythonPath}
	for _, v := range []*verifier{node, python} {
		for _, file := range []string{v.file, v.repeat} {
			if _, err := os.ReadFile(file); err != nil { // a change of a file invalidates a cached result
				t.Fatal(err)
			}
		}
		if v.interpreter() != "" {
			continue
		}
		if os.Getenv("UIMGATE_REQUIRE_LANGUAGES") == "1" {
			t.Fatalf("the interpreter of %s is not installed", v.file)
		}
		t.Skipf("the interpreter of %s is not installed", v.file)
	}
	return node, python
}

func (v *verifier) command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, v.interpreter(), args...)
	c.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	return c
}

// start starts the process for many runs. It ends with the test.
func (v *verifier) start(t *testing.T) {
	t.Helper()
	c := v.command(context.Background(), v.repeat, v.file)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	c.Stderr = &stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		if err := c.Wait(); err != nil || stderr.Len() > 0 {
			t.Errorf("%s: %v\n%s", v.repeat, err, stderr.String())
		}
	})
	v.requests, v.responses = json.NewEncoder(in), json.NewDecoder(out)
}

// run returns the exit code of the verifier and what it writes to stdout and stderr.
func (v *verifier) run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	if v.requests != nil {
		v.mu.Lock()
		defer v.mu.Unlock()
		err := v.requests.Encode(args)
		if err == nil {
			err = v.responses.Decode(&[]any{&code, &stdout, &stderr})
		}
		if err != nil {
			t.Fatalf("%s %v: %v", v.file, args, err)
		}
		return code, stdout, stderr
	}
	c := v.command(t.Context(), append([]string{v.file}, args...)...)
	var out, problems bytes.Buffer
	c.Stdout, c.Stderr = &out, &problems
	if err := c.Run(); err != nil {
		if _, exited := errors.AsType[*exec.ExitError](err); !exited {
			t.Fatal(err)
		}
	}
	return c.ProcessState.ExitCode(), out.String(), problems.String()
}

// verify returns the report of the verifier.
func (v *verifier) verify(t *testing.T, args ...string) (r verifierReport, text string) {
	t.Helper()
	code, text, stderr := v.run(t, args...)
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("%s %v: %v\n%s%s", v.file, args, err, text, stderr)
	}
	if r.OK != (code == 0) || code != 0 && code != 1 || r.OK != (len(r.Problems) == 0) || stderr != "" {
		t.Errorf("ok is %v, with the exit code %d\n%s", r.OK, code, stderr)
	}
	return r, text
}

// verifiersOfOneProcess returns a function that runs both verifiers, each run in the same two processes, and checks that they print the
// same report.
func verifiersOfOneProcess(t *testing.T) func(t *testing.T, args ...string) verifierReport {
	t.Helper()
	node, python := newVerifiers(t)
	node.start(t)
	python.start(t)
	return func(t *testing.T, args ...string) verifierReport {
		t.Helper()
		return verifyBoth(t, node, python, args...)
	}
}

// verifyBoth runs both verifiers and checks that they print the same report.
func verifyBoth(t *testing.T, node, python *verifier, args ...string) verifierReport {
	t.Helper()
	r, first := node.verify(t, args...)
	_, second := python.verify(t, args...)
	if !sameJSON(t, first, second) {
		t.Errorf("node printed\n%s\npython printed\n%s", first, second)
	}
	return r
}

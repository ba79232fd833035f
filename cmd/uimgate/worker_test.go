package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// envWorker makes the real command a worker: it carries out the commands that it reads, one after the other, until the input ends.
const envWorker = "UIMGATE_TEST_WORKER"

// A workerCommand is one line of the input of a worker.
type workerCommand struct {
	Dir       string
	Env, Args []string
}

// A workerResult is one line of the output of a worker.
type workerResult struct {
	Code           int
	Stdout, Stderr []byte
}

// work carries out the commands of a script. Each of them has its own directory, environment and flags, as a process has.
func work(ctx context.Context, in io.Reader, out io.Writer) error {
	commands, results := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var c workerCommand
		if err := commands.Decode(&c); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := os.Chdir(c.Dir); err != nil {
			return err
		}
		os.Clearenv()
		for _, pair := range c.Env {
			name, value, _ := strings.Cut(pair, "=")
			if err := os.Setenv(name, value); err != nil {
				return err
			}
		}
		var stdout, stderr bytes.Buffer
		code := run(ctx, c.Args, strings.NewReader(""), &stdout, &stderr)
		if err := results.Encode(workerResult{code, stdout.Bytes(), stderr.Bytes()}); err != nil {
			return err
		}
	}
}

// A worker is a process that carries out the commands of one script.
type worker struct {
	commands *json.Encoder
	results  *json.Decoder
	names    []string // of the variables that the script may set
}

// workerKey is the key of the worker in the values of a script.
type workerKey struct{}

// setVariable matches a line of a script that sets a variable.
var setVariable = regexp.MustCompile(`(?m)^env ([A-Z_]+)=`)

// inWorker (run uimgate ARG…) carries out a command as "exec uimgate" does, but in a process that the commands of the script share. The
// standard input is empty. Commands that serve, read the standard input or run in the background need exec.
func inWorker(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 || args[0] != "uimgate" {
		ts.Fatalf("usage: run uimgate [ARG…]")
	}
	w, _ := ts.Value(workerKey{}).(*worker)
	if w.commands == nil {
		w.start(ts)
	}
	c := workerCommand{Dir: ts.MkAbs("."), Args: args[1:]}
	for _, name := range w.names {
		if value := ts.Getenv(name); value != "" {
			c.Env = append(c.Env, name+"="+value)
		}
	}
	ts.Check(w.commands.Encode(c))
	var got workerResult
	ts.Check(w.results.Decode(&got))
	_, err := ts.Stdout().Write(got.Stdout)
	ts.Check(err)
	_, err = ts.Stderr().Write(got.Stderr)
	ts.Check(err)
	switch {
	case neg && got.Code == exitDone:
		ts.Fatalf("unexpected command success")
	case !neg && got.Code != exitDone:
		ts.Fatalf("unexpected exit code %d", got.Code)
	}
}

func (w *worker) start(ts *testscript.TestScript) {
	text, err := os.ReadFile(filepath.Join("testdata", "scripts", ts.Name()+".txtar"))
	ts.Check(err)
	for _, m := range setVariable.FindAllStringSubmatch(string(text), -1) {
		w.names = append(w.names, m[1])
	}
	w.names = append(w.names, "GATEWAY", "ADMIN", "RELAY", "GATEWAY_HOST", "GATEWAY_LOG", "GATEWAY_PID", "SHOP_URL")
	self, err := findUimgate(ts)
	ts.Check(err)
	c := exec.Command(self)
	c.Args[0] = "uimgate"
	c.Env = append(os.Environ(), envWorker+"=1")
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	ts.Check(err)
	out, err := c.StdoutPipe()
	ts.Check(err)
	ts.Check(c.Start())
	ts.Defer(func() {
		_ = in.Close()
		if err := c.Wait(); err != nil {
			ts.Logf("the worker ended with %v", err)
		}
	})
	w.commands, w.results = json.NewEncoder(in), json.NewDecoder(out)
}

// newWorker returns the worker of a script, which starts with the first command. vars are the variables of the script.
func newWorker(vars []string) *worker {
	w := &worker{}
	for _, pair := range vars {
		name, _, _ := strings.Cut(pair, "=")
		w.names = append(w.names, name)
	}
	return w
}

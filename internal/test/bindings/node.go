// Package bindtest runs official clients of other protocols in tests.
package bindtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Node returns the directory of the clients in JavaScript, which make clients installs. If they are not installed, it skips the test, or
// fails it if UIMGATE_REQUIRE_LANGUAGES is 1.
func Node(t *testing.T) string {
	t.Helper()
	dir := clients(t)
	_, missing := os.Stat(filepath.Join(dir, "node_modules"))
	if _, err := exec.LookPath("node"); err != nil || missing != nil {
		if os.Getenv("UIMGATE_REQUIRE_LANGUAGES") == "1" {
			t.Fatal("the clients are not installed: install Node.js 20 or later and npm, then make clients")
		}
		t.Skip("the clients are not installed: make clients")
	}
	return dir
}

// clients finds the directory of the clients from the test's working directory, which is below bindings. The path of this file cannot be
// used, because -trimpath shortens it.
func clients(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for filepath.Base(dir) != "bindings" && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
	}
	return filepath.Join(dir, "testdata", "node")
}

// Run runs a script in the directory of Node and returns its output.
func Run(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	out, stderr, err := run(t, dir, args)
	if err != nil {
		t.Fatalf("node %s: %v\n%s\n%s", args[0], err, out, stderr)
	}
	return out
}

// Try is like Run, but the script may exit with an error status.
func Try(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	out, stderr, err := run(t, dir, args)
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		t.Fatalf("node %s: %v\n%s\n%s", args[0], err, out, stderr)
	}
	return out
}

// Start starts a script that answers each line of its standard input with a line, both of JSON. ask sends in, and decodes the response into
// out. The script ends with the test.
func Start(t *testing.T, dir string, args ...string) (ask func(in, out any)) {
	t.Helper()
	var problems bytes.Buffer
	c := exec.CommandContext(t.Context(), "node", args...)
	c.Dir, c.Stderr = dir, &problems
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	end := sync.OnceValue(func() error { return errors.Join(in.Close(), c.Wait()) })
	t.Cleanup(func() { _ = end() })
	encoder, decoder := json.NewEncoder(in), json.NewDecoder(out)
	return func(request, response any) {
		t.Helper()
		if err := errors.Join(encoder.Encode(request), decoder.Decode(response)); err != nil {
			t.Fatalf("node %s: %v, %v\n%s", args[0], err, end(), problems.Bytes())
		}
	}
}

func run(t *testing.T, dir string, args []string) (stdout, stderr []byte, err error) {
	t.Helper()
	var out, problems bytes.Buffer
	c := exec.CommandContext(t.Context(), "node", args...)
	c.Dir, c.Stdout, c.Stderr = dir, &out, &problems
	err = c.Run()
	return out.Bytes(), problems.Bytes(), err
}

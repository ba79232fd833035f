package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// requireLanguages makes a missing interpreter a failure.
const requireLanguages = "UIMGATE_REQUIRE_LANGUAGES"

// TestAgentsInOtherLanguages runs the agents of examples/agents against the demo, one at a time, because the demo counts the requests of an
// address. Each exits with 0 only if every step had the result that docs/protocols/uim.md describes.
func TestAgentsInOtherLanguages(t *testing.T) { //nolint:tparallel // one after another is the point
	t.Parallel()
	address := startDemo(t)
	for _, agent := range []struct {
		file, needs   string
		option, probe string   // a program that fails if the interpreter is unsuitable, and the option that runs it
		interpreters  []string // the first suitable one is used
	}{
		{
			file: "javascript/agent.mjs", needs: "Node.js 20 or later", interpreters: []string{"node"},
			option: "-e", probe: "process.exit(process.versions.node.split('.')[0] < 20 ? 1 : 0)",
		},
		{
			file: "python/agent.py", needs: "python3 with the package cryptography", interpreters: []string{"python3", "/usr/bin/python3"},
			option: "-c", probe: "import cryptography",
		},
	} {
		t.Run(agent.file, func(t *testing.T) {
			i := slices.IndexFunc(agent.interpreters, func(program string) bool {
				return exec.CommandContext(t.Context(), program, agent.option, agent.probe).Run() == nil
			})
			if i < 0 && os.Getenv(requireLanguages) == "1" {
				t.Fatalf("%s is not installed, and %s is set", agent.needs, requireLanguages)
			}
			if i < 0 {
				t.Skipf("%s is not installed: this agent is not run", agent.needs)
			}
			out, err := exec.CommandContext(t.Context(), agent.interpreters[i], "../../examples/agents/"+agent.file, address).CombinedOutput()
			if err != nil || !bytes.Contains(out, []byte("REVOKED_TOKEN")) { // the last step of each agent prints this
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

var demoAddress = regexp.MustCompile(`curl -s (http://127\.0\.0\.1:\d+)/agents\.json`)

// startDemo runs the demo until the end of the test, and returns the address of the gateway that keeps running after the tour.
func startDemo(t *testing.T) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), "uimgate", "demo")
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // t.Context has ended, which stops the demo
		_, _ = io.Copy(io.Discard, out)
		_ = c.Wait()
	})
	var text strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if m := demoAddress.FindStringSubmatch(lines.Text()); m != nil {
			if lines.Scan(); lines.Text() != "  uimgate agent keygen" {
				t.Errorf("the demo prints %q, want a command with the name under which it was started", lines.Text())
			}
			return m[1]
		}
		text.WriteString(lines.Text() + "\n")
	}
	t.Fatalf("the demo did not stay up:\n%s", text.String())
	return ""
}

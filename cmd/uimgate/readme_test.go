package main

import (
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// walkthroughs are pages with commands that a reader runs in order, in an empty directory.
var walkthroughs = map[string]struct {
	pages []string
	taken []string // blocks that cannot run in this test; other tests run them
	want  []string // in the output
}{
	"README": {
		pages: []string{"README.md"},
		taken: []string{
			"go run ./cmd/uimgate demo\n", // testdata/scripts/demo.txtar
			"make test\n",                 // this test run; CI uses the same command
			"make build\n",                // the binary of this test is the command; CI builds the other
			"make release VERSION=v0.1.0\nsudo apt install ./dist/uimgate_0.1.0_amd64.deb\n" + // deploy/test/install.sh
				"sudo uimgate init --out /etc/uimgate\nsudo systemctl enable --now uimgate\n",
		},
		want: []string{"gate/uimgate.yaml: good", `"name": "Desk lamp Lumen"`},
	},
	"quickstart": {
		pages: []string{
			"docs/quickstart.md", "docs/for-agents/curl.md", "docs/for-agents/assistants.md", "docs/for-agents/verify.md",
			"docs/for-services/policy-tools.md",
			"docs/operate/bill.md", "docs/operate/backup.md", "docs/for-agents/relay.md",
		},
		want: []string{"my-gateway/uimgate.yaml: good", `"products"`, "0.05 EUR", "shop.example:find-products:v1", `{"text":"hello"}`, "Signature Verified Successfully"},
	},
}

// TestPages runs the shell blocks of pages unchanged, except that free ports replace the documented ones.
func TestPages(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"bash", "curl", "jq", "openssl"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatalf("%s is needed in CI", tool)
			}
			t.Skipf("%s is not installed: the commands of the pages are not run", tool)
		}
	}
	ci, err := os.ReadFile("../../.ci/run")
	for _, command := range []string{"make test", "make build", "deploy/test/install.sh"} {
		if err != nil || !regexp.MustCompile(`(?m)^`+command+`$`).Match(ci) {
			t.Errorf("CI does not run %s from the README: %v", command, err)
		}
	}
	for name, walk := range walkthroughs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var blocks []string
			for _, page := range walk.pages {
				text, err := os.ReadFile(filepath.Join("../..", page))
				if err != nil {
					t.Fatal(err)
				}
				found := shellBlocks(string(text))
				if len(found) == 0 {
					t.Errorf("%s has no shell blocks", page)
				}
				blocks = append(blocks, found...)
			}
			for _, block := range walk.taken {
				i := slices.Index(blocks, block)
				if i < 0 {
					t.Fatalf("the block %q is missing", block)
				}
				blocks = slices.Delete(blocks, i, i+1)
			}
			out := walkThrough(t, blocks)
			for _, want := range walk.want {
				if !strings.Contains(out, want) {
					t.Errorf("the output lacks %q:\n%s", want, out)
				}
			}
		})
	}
}

var serving = regexp.MustCompile(`\./uimgate serve -c \S+`)

// walkThrough runs blocks in an empty directory, and returns their output.
func walkThrough(t *testing.T, blocks []string) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(dir, "uimgate")) // see TestMain
	}
	if err != nil {
		t.Fatal(err)
	}
	script := "set -eu\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n" + waiting
	for _, b := range blocks {
		script += b
		if serving.MatchString(b) { // a reader runs the next command once the server responds
			script += "ready http://127.0.0.1:8080/agents.json\nready http://127.0.0.1:9000/products\n"
		}
	}
	script = strings.Replace(script, "--data my-relay &\n", "--data my-relay &\nready http://127.0.0.1:8490/v1/health\n", 1)
	script = serving.ReplaceAllString(script, "$0 --listen 127.0.0.1:8080 --admin-listen 127.0.0.1:8081") + "kill $(jobs -p)\nwait\n"
	for _, port := range []string{"9000", "8080", "8081", "8490"} {
		script = strings.ReplaceAll(script, "127.0.0.1:"+port, "127.0.0.1:"+freePort(t))
	}
	// The shop is that of the repository, but the build output goes elsewhere.
	const shop = "go run ./examples/shop --"
	if !strings.Contains(script, shop) {
		t.Fatalf("the pages lack %q", shop)
	}
	script = strings.Replace(script, shop, "(cd '"+root+"' && go build -o '"+dir+"/shop' ./examples/shop); ./shop --", 1)
	c := exec.CommandContext(t.Context(), "bash", "-c", script)
	c.Dir = dir
	c.Env = append(os.Environ(), goCaches(t)...)
	c.Env = append(c.Env, "HOME="+dir, "XDG_CONFIG_HOME="+dir+"/.config", "XDG_STATE_HOME="+dir+"/.state")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, script, out)
	}
	return string(out)
}

// goCaches returns the variables that keep the caches of go build if HOME changes.
func goCaches(t *testing.T) []string {
	t.Helper()
	var env []string
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} {
		value, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, name+"="+strings.TrimSpace(string(value)))
	}
	return env
}

// waiting defines ready, which waits for a server in the background as a reader would.
const waiting = `ready() { for i in $(seq 1800); do curl -s -o /dev/null "$1" && return; read -t 0.1 <> <(:) || true; done; echo "not ready: $1"; exit 1; }
`

var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

func shellBlocks(text string) []string {
	var out []string
	for _, m := range shellBlock.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// freePort returns an unused port below those that the system assigns to connections, so that no other test can get it before the script
// uses it.
func freePort(t *testing.T) string {
	t.Helper()
	for range 100 {
		port := strconv.Itoa(20_000 + rand.IntN(12_000))
		ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", port))
		if err != nil {
			continue
		}
		if err := ln.Close(); err != nil {
			t.Fatal(err)
		}
		return port
	}
	t.Fatal("no free port found")
	return ""
}

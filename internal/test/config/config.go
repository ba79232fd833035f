// Package configtest loads configurations with the blocks of some modules, for tests.
package configtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/config"
)

// Service is a configuration of one service in five lines. A test appends further keys of the service, then other keys.
const Service = `services:
- agents_file: agents.json
  policy_file: policy.json
  upstream:
    url: http://127.0.0.1:9000
`

// A Dir is the directory of a configuration.
type Dir string

// New makes a directory with the files of a service.
func New(tb testing.TB) Dir {
	tb.Helper()
	d := Dir(tb.TempDir())
	d.Write(tb, "agents.json", `{"intents":[]}`)
	d.Write(tb, "policy.json", `{"uid":"https://example.com/policy"}`)
	return d
}

// Write writes a file of the configuration.
func (d Dir) Write(tb testing.TB, name, text string) {
	tb.Helper()
	if err := os.WriteFile(filepath.Join(string(d), name), []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// Load loads a configuration with an empty environment. It returns the problems in their printed form, without the directory.
func (d Dir) Load(tb testing.TB, blocks config.Blocks, text string) (*config.Config, []string) {
	tb.Helper()
	d.Write(tb, "uimgate.yaml", text)
	c, problems := config.Load(filepath.Join(string(d), "uimgate.yaml"), config.Overrides{
		Env: func(string) (string, bool) { return "", false }, Blocks: blocks,
	})
	var texts []string
	for _, p := range problems {
		texts = append(texts, strings.ReplaceAll(p.String(), string(d)+string(filepath.Separator), ""))
	}
	return c, texts
}

package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings"
	"github.com/uimgate/uimgate/config"
)

// An outline has the files of a configuration that lacks variables, has errors, and names files that do not exist.
func TestOutlineOfConfigurationWithErrors(t *testing.T) {
	const text = `
admin: {listen: "${NONE}", secret: "${file:none}"}
services:
- {agents_file: agents.json, policy_file: /etc/policy.json, upstream: {url: "${NONE}"}, wrong: 1}
- agents_file: "${DIR}/agents.json"
  policies: [{file: ../a.json}, {file: b.json, from: 2026-12-01T00:00Z}]
`
	o := config.Overrides{Blocks: bindings.Blocks(), Env: func(name string) (string, bool) { return "sub", name == "DIR" }}
	got := config.Outline("gate/uimgate.yaml", []byte(text), o)
	var files []string
	for i := range got {
		files = append(files, got[i].AgentsFile.Path)
		for _, v := range got[i].Versions() {
			files = append(files, v.File.Path)
		}
	}
	if list, want := strings.Join(files, " "), "gate/agents.json /etc/policy.json gate/sub/agents.json a.json gate/b.json"; list != want {
		t.Errorf("got %s, want %s", list, want)
	}
	if at := got[1].Policies[1].From; !at.Equal(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("the policy takes effect at %s, want 1 December 2026", at)
	}
	if got := config.Outline("uimgate.yaml", []byte("a: [\n"), o); got != nil {
		t.Errorf("got %v, want nil", got)
	}
	if got := config.Outline("uimgate.yaml", nil, o); got == nil || len(got) > 0 {
		t.Errorf("got %v, want an empty list", got)
	}
}

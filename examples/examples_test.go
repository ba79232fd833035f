package examples_test

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/bindings"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/examples"
	"github.com/uimgate/uimgate/gateway/service"
)

func TestConfigurationsLoadWithoutProblems(t *testing.T) {
	found := 0
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !slices.Contains([]string{".yaml", ".yml"}, path.Ext(name)) {
			return err
		}
		if name == "policies/cases.yaml" { // a table that uimgate policy test runs
			return nil
		}
		found++
		t.Run(name, func(t *testing.T) {
			c, problems := config.Load(name, config.Overrides{Blocks: bindings.Blocks(), Env: noEnvironment})
			if len(problems) > 0 || c == nil {
				t.Fatal(problems)
			}
			if loaded, problems := service.Load(t.Context(), c, time.Now); len(problems) > 0 || loaded == nil {
				t.Error(problems)
			}
		})
		return nil
	})
	if err != nil || found == 0 {
		t.Errorf("%d configurations found, %v", found, err)
	}
}

// The binary contains the files of this directory, under the names that the demo uses.
func TestFilesMatchTheDirectory(t *testing.T) {
	var embedded []string
	err := fs.WalkDir(examples.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		embedded = append(embedded, name)
		inside, err := examples.Files.ReadFile(name)
		if err != nil {
			return err
		}
		outside, err := os.ReadFile(name)
		if err != nil || string(inside) != string(outside) {
			t.Errorf("%s differs, %v", name, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"shop/agents.json", "shop/policy.json", "shop/uimgate.yaml"}
	for name := range policies {
		want = append(want, "policies/"+name+".json")
	}
	slices.Sort(want)
	slices.Sort(embedded)
	if diff := cmp.Diff(want, embedded); diff != "" {
		t.Errorf("a policy without a test, or a test without its policy (-tested +embedded):\n%s", diff)
	}
}

var readmeRow = regexp.MustCompile("(?m)^\\| \\[`([a-z-]+)\\.json`\\]\\(([^)]+)\\) \\| (.+) \\| (.+) \\| (.+) \\|$")

// The README has one row for each policy, with the settings that it needs in uimgate.yaml.
func TestReadmeExplainsEveryPolicy(t *testing.T) {
	text, err := os.ReadFile("policies/README.md")
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, row := range readmeRow.FindAllStringSubmatch(string(text), -1) {
		name, link, needs := row[1], row[2], row[5]
		named = append(named, name)
		if link != name+".json" {
			t.Errorf("%s links to %s, want %s", name, link, name+".json")
		}
		want := policies[name].needs
		for key, value := range map[string]string{"billing.credit": want.credit, "assignee: anyone": want.assignee, "parties": want.partner} {
			if strings.Contains(needs, key) != (value != "") {
				t.Errorf("%s: %q is in the row %v, needed %q", name, key, strings.Contains(needs, key), value)
			}
		}
		for _, value := range []string{want.credit, want.partner} {
			if !strings.Contains(needs, value) {
				t.Errorf("%s: the row lacks %s", name, value)
			}
		}
		for _, a := range policies[name].asks {
			if a.deny != "" && !strings.Contains(row[4], string(a.deny)) {
				t.Errorf("%s: the row lacks the reason %s", name, a.deny)
			}
		}
	}
	want := slices.Sorted(maps.Keys(policies))
	slices.Sort(named)
	if diff := cmp.Diff(want, named); diff != "" {
		t.Errorf("(-tested +explained):\n%s", diff)
	}
}

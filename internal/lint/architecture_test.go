package lint_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// quotedPath matches a path of the repository that a document quotes.
var quotedPath = regexp.MustCompile("`((?:[a-z_]+/)*[a-z_]+(?:\\.[a-z]+)?)`")

// folders lists the top folders that a quoted path may begin with.
var folders = []string{
	"agent", "bench", "bindings", "cmd", "config", "discovery", "docs", "examples", "gateway", "intents", "internal", "odrl",
	"pat", "store",
}

// TestArchitectureNamesWhatExists checks that the folders and files in ARCHITECTURE.md exist.
func TestArchitectureNamesWhatExists(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, m := range quotedPath.FindAllStringSubmatch(string(text), -1) {
		path := m[1]
		top, _, _ := strings.Cut(path, "/")
		if !slices.Contains(folders, top) {
			continue
		}
		named++
		if _, err := os.Stat(filepath.Join("../..", filepath.FromSlash(path))); err != nil {
			t.Errorf("ARCHITECTURE.md names %s, which does not exist", path)
		}
	}
	if named < 60 {
		t.Fatalf("only %d paths were found, want at least 60", named)
	}
}

// TestArchitectureHasOneRowForEachPackage checks that no package is in the first column of two rows, as after a merge of two branches.
func TestArchitectureHasOneRowForEachPackage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	packages, _, _ := strings.Cut(string(text), "\n## The path of a call")
	rows := map[string]int{}
	for line := range strings.Lines(packages) {
		first, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		for _, m := range quotedPath.FindAllStringSubmatch(first, -1) {
			if rows[m[1]]++; rows[m[1]] == 2 {
				t.Errorf("ARCHITECTURE.md has two rows for %s", m[1])
			}
		}
	}
	if len(rows) < 100 {
		t.Fatalf("only %d packages were found, want at least 100", len(rows))
	}
}

// TestEveryPackageIsInTheArchitecture checks that ARCHITECTURE.md names each package.
func TestEveryPackageIsInTheArchitecture(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, top := range folders {
		err := filepath.WalkDir("../../"+top, func(path string, d os.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			if d.Name() == "testdata" {
				return filepath.SkipDir
			}
			files, err := filepath.Glob(filepath.Join(path, "*.go"))
			name := filepath.ToSlash(strings.TrimPrefix(path, "../../"))
			if err == nil && len(files) > 0 && !strings.Contains(string(text), "`"+name+"`") {
				t.Errorf("ARCHITECTURE.md does not name the package %s", name)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

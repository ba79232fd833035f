package lint_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// quotedPath is a path of the repository as documents quote it.
var quotedPath = regexp.MustCompile("`((?:[a-z_]+/)*[a-z_]+(?:\\.[a-z]+)?)`")

// rooms are the folders at the top that a quoted path may begin with.
var rooms = []string{
	"agent", "bench", "bindings", "cmd", "config", "discovery", "docs", "examples", "gateway", "intents", "internal", "odrl",
	"pat", "store",
}

// TestArchitectureNamesWhatExists: a page that names rooms and files is of use only while they are there.
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
		if !slices.Contains(rooms, top) {
			continue
		}
		named++
		if _, err := os.Stat(filepath.Join("../..", filepath.FromSlash(path))); err != nil {
			t.Errorf("ARCHITECTURE.md names %s, which is not there", path)
		}
	}
	if named < 60 {
		t.Fatalf("only %d paths were found, want at least 60", named)
	}
}

// TestEveryRoomIsInTheArchitecture: a package that the page does not name is one that nobody finds.
func TestEveryRoomIsInTheArchitecture(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, top := range rooms {
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

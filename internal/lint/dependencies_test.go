package lint_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const self = "github.com/uimgate/uimgate"

// imports returns the packages that each package of this module imports, in its own files and in its tests, for all platforms.
func imports(t *testing.T) (own, tests map[string][]string) {
	t.Helper()
	own, tests = map[string][]string{}, map[string][]string{}
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && name != "." || isModule(root, name)):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
		if err != nil {
			return err
		}
		into := own
		if strings.HasSuffix(name, "_test.go") {
			into = tests
		}
		dir := path.Join(self, path.Dir(name))
		for _, i := range file.Imports {
			imported, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			into[dir] = append(into[dir], imported)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return own, tests
}

// isModule reports whether a directory below the root is a separate module, whose dependencies are not ours.
func isModule(root fs.FS, dir string) bool {
	_, err := fs.Stat(root, path.Join(dir, "go.mod"))
	return err == nil && dir != "."
}

var required = regexp.MustCompile(`(?m)^(?:require )?\t?([a-z0-9.-]+\.[a-z]+/\S+) v\S+`)

// modules returns the modules of go.mod that contain the packages, without the standard library and this module.
func modules(t *testing.T, packages map[string]bool) []string {
	t.Helper()
	text, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, m := range required.FindAllStringSubmatch(string(text), -1) {
		known = append(known, m[1])
	}
	found := map[string]bool{}
	for p := range packages {
		first, _, _ := strings.Cut(p, "/")
		if !strings.Contains(first, ".") || within(p, self) {
			continue
		}
		longest := ""
		for _, m := range known {
			if within(p, m) && len(m) > len(longest) {
				longest = m
			}
		}
		if longest == "" {
			t.Errorf("no module of go.mod contains %s", p)
		}
		found[longest] = true
	}
	return slices.Sorted(maps.Keys(found))
}

func within(pkg, module string) bool { return pkg == module || strings.HasPrefix(pkg, module+"/") }

var moduleRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| [^|]+ \\| [^|]+ \\| [^|]+ \\|$")

// docs/design/dependencies.md lists each imported module in the right table.
func TestDependenciesAreExplained(t *testing.T) {
	own, tests := imports(t)
	binary, all := map[string]bool{}, map[string]bool{}
	next := []string{self + "/cmd/uimgate"}
	for len(next) > 0 {
		p := next[0]
		next = next[1:]
		if !binary[p] {
			binary[p] = true
			next = append(next, own[p]...)
		}
	}
	for _, lists := range []map[string][]string{own, tests} {
		for _, list := range lists {
			for _, p := range list {
				all[p] = true
			}
		}
	}
	inBinary := modules(t, binary)
	others := slices.DeleteFunc(modules(t, all), func(m string) bool { return slices.Contains(inBinary, m) })

	text, err := os.ReadFile("../../docs/design/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	first, second, ok := strings.Cut(string(text), "\n## Not in the binary\n")
	if !ok {
		t.Fatal("the page lacks the second table")
	}
	for _, table := range []struct {
		name, text string
		imported   []string
	}{{"In the binary", first, inBinary}, {"Not in the binary", second, others}} {
		var listed []string
		for _, row := range moduleRow.FindAllStringSubmatch(table.text, -1) {
			listed = append(listed, row[1])
		}
		slices.Sort(listed)
		if diff := cmp.Diff(table.imported, listed); diff != "" {
			t.Errorf("docs/design/dependencies.md, %q (-imported +listed):\n%s", table.name, diff)
		}
	}
}

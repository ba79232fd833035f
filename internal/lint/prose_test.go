package lint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mannered lists habits that make sentences hard to read: verbs of speech for programs, sentences without an actor, relative clauses
// without a noun. Write "returns" or "reports", name the actor, and put the condition first.
var mannered = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\b(tells?|told|telling)\b`),
	regexp.MustCompile(`(?i)\b(says?|said|saying)\b`),
	regexp.MustCompile(`(?i)\b(whoever|nobody)\b`),
	regexp.MustCompile(`(?i)\bbec[ao]mes? of\b`),
	regexp.MustCompile(`(?i)\b(is|are|was|were) no [^l]`),
	regexp.MustCompile(`(?i)[,;] else\b|\belse[.;]`),
	regexp.MustCompile(`(?i)\b(of|by|from|under) which\b`),
	regexp.MustCompile(`(?i)\b(is|are|was|has|have) to be\b`),
	regexp.MustCompile(`(?i)\b(stands?|stood) (in|at|for|beside|behind|before|there)\b`),
}

// plain matches phrases with those words that are plain English.
var plain = regexp.MustCompile("(?i)\\bthere (is|are|was|were) (no|none)\\b|\\b(is|are) (no longer|none)\\b|`[^`]*`|\"[^\"]*\"")

// The most texts that may still have one of the habits. The numbers only fall.
const (
	mostComments = 3 // of 12,000
	mostStrings  = 0
	mostPages    = 0
)

// habits reports whether a text has one of the habits.
func habits(text string) bool {
	text = plain.ReplaceAllString(strings.ReplaceAll(text, "\n", " "), "")
	return slices.ContainsFunc(mannered, func(r *regexp.Regexp) bool { return r.MatchString(text) })
}

// eachProductFile parses the Go files of the product. It omits tests and the packages that only tests use.
func eachProductFile(t *testing.T, do func(name string, files *token.FileSet, file *ast.File)) {
	t.Helper()
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || d.Name() == ".git" || name == "internal/test"):
			return fs.SkipDir
		case path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		source, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, source, parser.ParseComments)
		if err == nil {
			do(name, files, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestProse counts mannered comments and strings of the product, and lines of the pages.
func TestProse(t *testing.T) {
	t.Parallel()
	var comments, texts, lines []string
	eachProductFile(t, func(_ string, files *token.FileSet, file *ast.File) {
		for _, group := range file.Comments {
			if habits(group.Text()) {
				comments = append(comments, files.Position(group.Pos()).String())
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING && strings.Contains(l.Value, " ") && habits(l.Value[1:len(l.Value)-1]) {
				texts = append(texts, files.Position(l.Pos()).String())
			}
			return true
		})
	})
	for name, text := range pages(t) {
		if name == "CHANGELOG.md" || strings.HasPrefix(name, "docs/reference/") {
			continue
		}
		for line := range strings.Lines(fenced.ReplaceAllString(text, "")) {
			if habits(line) {
				lines = append(lines, name+": "+strings.TrimSpace(line))
			}
		}
	}
	for _, count := range []struct {
		what  string
		found []string
		most  int
	}{{"comments", comments, mostComments}, {"strings", texts, mostStrings}, {"lines of pages", lines, mostPages}} {
		slices.Sort(count.found)
		switch n := len(count.found); {
		case n > count.most:
			t.Errorf("%d %s have a habit that CONTRIBUTING.md advises against; want at most %d. Reword yours:\n%s", n, count.what, count.most,
				strings.Join(count.found, "\n"))
		case n < count.most:
			t.Errorf("%d %s have a habit; lower the bound from %d", n, count.what, count.most)
		}
	}
}

package reason_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// root is the folder of the module, seen from this package.
const root = "../.."

// literalsAllowed lists the directories whose files may contain reasons as literals, outside tests. Only this package may.
var literalsAllowed = []string{"internal/reason/"}

// otherMeanings has the reasons whose text also has another meaning: a code of the envelope or a name of HTTP.
var otherMeanings = map[string]bool{
	"INVALID_PARAMETER": true, "METHOD_NOT_ALLOWED": true, "UNSUPPORTED_MEDIA_TYPE": true,
	"REQUEST_TIMEOUT": true, "VERSION_CONFLICT": true, "INTENT_DEPRECATED": true,
	"BUDGET_EXCEEDED": true, // the bridge reports it about the agent's own budget, without asking a service
}

// TestReasonsAreLiteralsInThisPackageOnly reads every source file, because the compiler cannot check a reason that is written as a string.
func TestReasonsAreLiteralsInThisPackageOnly(t *testing.T) {
	eachSource(t, func(path string) {
		for _, at := range reasonLiterals(t, path) {
			t.Errorf("%s spells a reason: use the constant of package reason", at)
		}
	})
}

// eachSource calls do with every source file of the product outside this package.
func eachSource(t *testing.T, do func(path string)) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		switch {
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && name != "."):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || allowed(name):
			return nil
		}
		files++
		do(path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 100 {
		t.Fatalf("only %d files were read", files)
	}
}

func allowed(name string) bool {
	for _, prefix := range literalsAllowed {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// reasonLiterals returns the places of one file where a string is a reason.
func reasonLiterals(t *testing.T, path string) []string {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(literal.Value)
		if _, reason := wire[text]; err == nil && reason && !otherMeanings[text] {
			found = append(found, set.Position(literal.Pos()).String()+" "+text)
		}
		return true
	})
	return found
}

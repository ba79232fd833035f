package reason_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/reason"
)

// shedding lists the reasons that are used only for shed requests.
var shedding = []string{"Overloaded", "TooManyConnections", "StoreUnavailable", "BreakerOpen"}

// countedElsewhere lists the files whose refusals other code counts.
var countedElsewhere = []string{
	"gateway/wire/body.go",      // the memory budget counts them
	"internal/daemon/bounds.go", // the listener counts them
}

// TestSheddingSetsACause reads every source file: a refusal for overload without a cause would not be counted.
func TestSheddingSetsACause(t *testing.T) {
	found := 0
	eachSource(t, func(path string) {
		name, _ := filepath.Rel(root, path)
		if slices.Contains(countedElsewhere, filepath.ToSlash(name)) {
			return
		}
		all, unnamed := sheds(t, path)
		found += all
		for _, at := range unnamed {
			t.Errorf("%s sheds without a cause: use ShedFor", at)
		}
	})
	if found < 6 {
		t.Errorf("found only %d places that shed requests, want at least 6", found)
	}
}

// sheds returns how often one file creates a Refusal for shedding, and the places where it does so without ShedFor.
func sheds(t *testing.T, path string) (all int, unnamed []string) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	named := map[ast.Expr]bool{} // arguments of ShedFor, direct or through other calls
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		method, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if method.Sel.Name == "ShedFor" || named[call] {
			named[method.X] = true
		}
		of, ok := method.X.(*ast.SelectorExpr)
		if ok && method.Sel.Name == "Refusal" && slices.Contains(shedding, of.Sel.Name) {
			if all++; !named[call] {
				unnamed = append(unnamed, set.Position(call.Pos()).String())
			}
		}
		return true
	})
	return all, unnamed
}

func TestCausesAreDistinctLabels(t *testing.T) {
	seen := map[reason.Cause]bool{}
	for _, c := range reason.Causes() {
		if seen[c] || c == "" || strings.Trim(string(c), "abcdefghijklmnopqrstuvwxyz_") != "" {
			t.Errorf("%q is empty, duplicate or not a valid label", c)
		}
		seen[c] = true
	}
}

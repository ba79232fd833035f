package lint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// question matches a row of the table of questions in ARCHITECTURE.md: | question | `file` `Symbol`, `file` `Symbol` |.
var question = regexp.MustCompile(`(?m)^\| ([^|]+\?) \| ([^|]+) \|$`)

var answer = regexp.MustCompile("`([^` ]+)`(?: `([^` ]+)`)?")

// TestQuestionsAreAnswered checks that the file of each answer in ARCHITECTURE.md exists and declares the symbol.
func TestQuestionsAreAnswered(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := question.FindAllStringSubmatch(string(text), -1)
	if len(rows) < 10 {
		t.Fatalf("%d questions were found; want at least 10", len(rows))
	}
	for _, row := range rows {
		answers := answer.FindAllStringSubmatch(row[2], -1)
		if len(answers) == 0 {
			t.Errorf("%s: no file answers it", row[1])
		}
		for _, a := range answers {
			file, symbol := filepath.Join("../..", a[1]), a[2]
			switch _, err := os.Stat(file); {
			case err != nil:
				t.Errorf("%s: %v", row[1], err)
			case filepath.Ext(file) != ".go": // a page or a configuration file
			case symbol == "":
				t.Errorf("%s: %s comes without a symbol", row[1], a[1])
			case !declares(t, file, symbol):
				t.Errorf("%s: %s does not declare %s", row[1], a[1], symbol)
			}
		}
	}
}

// declares reports whether a file declares a symbol at its top level, such as Name or Type.Method.
func declares(t *testing.T, file, symbol string) bool {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	owner, name, isMethod := strings.Cut(symbol, ".")
	if !isMethod {
		owner, name = "", symbol
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.Name == name && receiver(d) == owner {
				return true
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					if spec.Name.Name == symbol {
						return true
					}
				case *ast.ValueSpec:
					for _, id := range spec.Names {
						if id.Name == symbol {
							return true
						}
					}
				}
			}
		}
	}
	return false
}

// receiver returns the name of the type that a method belongs to. It is empty for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	of := d.Recv.List[0].Type
	if pointer, ok := of.(*ast.StarExpr); ok {
		of = pointer.X
	}
	if generic, ok := of.(*ast.IndexExpr); ok {
		of = generic.X
	}
	if id, ok := of.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

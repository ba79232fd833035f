package stubs_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/agent/stubs"
	"github.com/uimgate/uimgate/intents"
)

var update = flag.Bool("update", false, "write the stubs that the tests compare with")

// written returns the stubs of a file in testdata.
func written(t *testing.T, language stubs.Language, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	catalog, problems := intents.Parse(data, intents.Options{Now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)})
	if catalog == nil || problems.Failed() {
		t.Fatal(problems)
	}
	var out strings.Builder
	if err := stubs.Write(&out, language, catalog.Issuer, catalog); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

var languages = map[stubs.Language]string{stubs.Python: "py", stubs.TypeScript: "ts"}

// TestStubs compares the stubs with those in testdata. hostile.json tries to end strings, comments and identifiers.
func TestStubs(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"shop", "hostile"} {
		for language, extension := range languages {
			got, path := written(t, language, name+".json"), filepath.Join("testdata", name+"_"+extension+".golden")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(path); err != nil || string(want) != got {
				t.Errorf("%s differs, %v: run the test with -update, and read the change\n%s", path, err, got)
			}
		}
	}
}

// TestStubsAreValid parses the stubs with the compilers of both languages, where they are installed.
func TestStubsAreValid(t *testing.T) {
	t.Parallel()
	for language, extension := range languages {
		for _, name := range []string{"shop.json", "hostile.json"} {
			path := filepath.Join(t.TempDir(), "stubs."+extension)
			if err := os.WriteFile(path, []byte(written(t, language, name)), 0o600); err != nil {
				t.Fatal(err)
			}
			check(t, language, path)
		}
	}
}

func check(t *testing.T, language stubs.Language, path string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "python3", "-c", "import ast, sys; ast.parse(open(sys.argv[1], encoding='ascii').read())", path)
	if language == stubs.TypeScript {
		sdk, err := filepath.Abs("../../sdk/typescript")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(sdk + "/node_modules/typescript/bin/tsc"); err != nil {
			missing(t, "the packages of sdk/typescript: make clients")
			return
		}
		settings := strings.ReplaceAll(`{"files": ["stubs.ts"], "compilerOptions": {
			"strict": true, "noEmit": true, "skipLibCheck": true, "target": "es2022", "module": "esnext", "moduleResolution": "bundler",
			"types": ["node"], "typeRoots": ["SDK/node_modules/@types"], "paths": {"uimgate": ["SDK/src/index.ts"]}}}`, "SDK", sdk)
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), "tsconfig.json"), []byte(settings), 0o600); err != nil {
			t.Fatal(err)
		}
		c = exec.CommandContext(t.Context(), "node", sdk+"/node_modules/typescript/bin/tsc", "-p", filepath.Dir(path))
	}
	if c.Err != nil {
		missing(t, c.Args[0])
		return
	}
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", path, err, out)
	}
}

// missing reports that a check cannot run. It is an error where UIMGATE_REQUIRE_LANGUAGES is 1.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("UIMGATE_REQUIRE_LANGUAGES") == "1" {
		t.Errorf("not installed: %s", what)
	}
	t.Logf("NOT TESTED: not installed: %s", what)
}

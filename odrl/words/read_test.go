package words_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/odrl/words"
)

// Policies of every form next to their sentences. Read the golden file when it changes: readers may rely on the sentences.
func TestExplainLoadedPolicies(t *testing.T) {
	const golden = "testdata/explain.txtar"
	archive, err := txtar.ParseFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	out := &txtar.Archive{Comment: archive.Comment}
	want := map[string]string{}
	policies := 0
	for _, f := range archive.Files {
		if strings.HasSuffix(f.Name, ".txt") {
			want[f.Name] = string(f.Data)
			continue
		}
		policies++
		lenient := strings.Contains(f.Name, "lenient")
		p, problems := odrl.Load(t.Context(), f.Data, odrl.LoadOptions{Lenient: lenient})
		if p == nil {
			t.Errorf("%s: %v", f.Name, problems)
			continue
		}
		got := []byte(written(append(words.Explain(p), words.Notes(odrl.Validate(t.Context(), f.Data,
			odrl.ValidateOptions{Lenient: lenient}))...)))
		if again := written(words.Explain(p)); !strings.HasPrefix(string(got), again) {
			t.Errorf("%s: two explanations differ", f.Name)
		}
		out.Files = append(out.Files, f, txtar.File{Name: strings.TrimSuffix(f.Name, ".json") + ".txt", Data: got})
	}
	if policies < 20 {
		t.Errorf("only %d policies, want at least 20", policies)
	}
	if *update {
		if err := os.WriteFile(golden, txtar.Format(out), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range out.Files {
		if !strings.HasSuffix(f.Name, ".txt") {
			continue
		}
		if diff := cmp.Diff(want[f.Name], string(f.Data)); diff != "" && !*update {
			t.Errorf("%s (-want +got; -update after reading it):\n%s", f.Name, diff)
		}
	}
}

// The example policies without a gateway that defines their names.
func TestExplainLoadedExamples(t *testing.T) {
	names, err := filepath.Glob("../../examples/policies/*.json")
	if err != nil || len(names) < 10 {
		t.Fatalf("got %v, %v; want a length of at least 10, nil", names, err)
	}
	var b bytes.Buffer
	for _, name := range append(names, "../../examples/shop/policy.json") {
		doc, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		p, problems := odrl.Load(t.Context(), doc, odrl.LoadOptions{})
		if p == nil {
			t.Fatalf("%s: %v", name, problems)
		}
		b.WriteString("== " + strings.TrimPrefix(name, "../../examples/") + "\n" + written(words.Explain(p)) + "\n")
	}
	const golden = "testdata/explain.txt"
	if *update {
		if err := os.WriteFile(golden, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(read(t, "testdata/explain.txt")), b.String()); diff != "" {
		t.Errorf("(-want +got; -update after reading it):\n%s", diff)
	}
}

package curation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/intents/openapi/curation"
	"github.com/uimgate/uimgate/internal/money"
)

func read(t *testing.T, text string) *curation.File {
	t.Helper()
	f, err := curation.Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func write(t *testing.T, f *curation.File) string {
	t.Helper()
	text, err := f.Text()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestNewFileHasAddedOperations(t *testing.T) {
	f, err := curation.Read(nil)
	if err != nil {
		t.Fatal(err)
	}
	f.Selection.Include = []string{"orders*", "/x y"}
	f.Add("listOrders", curation.Operation{UID: "shop.example:list-orders:v1", Hidden: curation.Offered}, "GET /orders, reads")
	f.Add("POST /orders/{id}", curation.Operation{
		Hidden: curation.Hidden, Price: money.Amount{Nano: money.Unit / 20, Currency: "EUR"}, Description: "Two\nlines: \"quoted\" # and more",
	}, "writes")
	f.Add("null", curation.Operation{Hidden: curation.Hidden}, "")
	text := write(t, f)
	for _, want := range []string{
		"\n  listOrders: {hidden: false, uid: shop.example:list-orders:v1} # GET /orders, reads\n",
		"\n  include: [\"orders*\", \"/x y\"]\n", "price: \"0.05 EUR\"",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
	back := read(t, text)
	if diff := cmp.Diff(f.Operations, back.Operations); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
	if again := write(t, back); again != text {
		t.Errorf("reading and writing it changes it:\n%s, want %s", again, text)
	}
}

const edited = `# Ours since May.

selection:
  include: []   # everything
  tags:
  - shop   # one
  # two
  - stock
  new: none

operations:
  # Products

  searchProducts: # GET /products
    uid: shop.example:search:v1   # renamed
    hidden: false
    description: |
      Long text
      # not a comment

      more
    notes: mine
    # end of it

  "POST /x":
      hidden: true
      price: '0.10 USD'   # more later
  c: {uid: shop.example:c:v1, hidden: true} # flow
  d:
# foot
`

func TestChangesKeepOtherText(t *testing.T) {
	f := read(t, edited)
	change := func(key string, with func(o *curation.Operation)) {
		o := f.Operations[key]
		with(&o)
		f.Operations[key] = o
	}
	change("searchProducts", func(o *curation.Operation) { o.Hidden, o.Name = curation.Hidden, "Search: all" })
	change("POST /x", func(o *curation.Operation) { o.UID = "shop.example:x:v1" })
	change("c", func(o *curation.Operation) { o.Hidden, o.Description = curation.Offered, "Now, with a comma" })
	change("d", func(o *curation.Operation) { o.Hidden = curation.Hidden })
	f.Rename("c", "cee")
	f.Selection.Include = []string{"a*"}
	f.Selection.New = curation.NewAll
	f.Add("e", curation.Operation{UID: "shop.example:e:v1", Hidden: curation.Hidden}, "GET /e, reads")
	f.Add("f", curation.Operation{UID: "shop.example:f:v1", Hidden: curation.Offered}, "")
	want := strings.NewReplacer(
		"include: []   #", "include: [\"a*\"] #", "- shop   #", "- shop #", "new: none", "new: all", "v1   # renamed", "v1 # renamed",
		"    hidden: false\n", "    hidden: true\n", "    notes: mine\n    # end of it\n", "    notes: mine\n    # end of it\n    name: \"Search: all\"\n",
		"'0.10 USD'   # more later\n", "'0.10 USD' # more later\n      uid: shop.example:x:v1\n",
		"c: {uid: shop.example:c:v1, hidden: true}", "cee: {uid: shop.example:c:v1, hidden: false, description: \"Now, with a comma\"}",
		"  d:\n", "  d: {hidden: true}\n  e: {hidden: true, uid: shop.example:e:v1} # GET /e, reads\n  f: {hidden: false, uid: shop.example:f:v1}\n",
	).Replace(edited)
	if diff := cmp.Diff(want, write(t, f)); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
}

func TestAddToFileWithoutOperations(t *testing.T) {
	for _, text := range []string{"", "# mine\n", "selection: {new: none}\n", "operations:\n", "operations: {}\n", "operations: {} # none\nselection:\n  new: none\n"} {
		f := read(t, text)
		f.Add("a", curation.Operation{Hidden: curation.Hidden}, "GET /a")
		f.Selection.Tags = []string{"x"}
		got := read(t, write(t, f))
		if diff := cmp.Diff(f.Operations, got.Operations); diff != "" || len(got.Selection.Tags) != 1 {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestInvalidFiles(t *testing.T) {
	for text, want := range map[string]string{
		"operations: {a: {hiden: true}}":                         `openapi.curation.yaml:1: operations["a"]: unknown key "hiden": did you mean "hidden"?`,
		"operations:\n  a: {hidden: yes}":                        `:2: operations["a"].hidden: "yes" is not valid: want true or false`,
		"operations: {a: {price: free}}":                         "want an amount such as 0.05 EUR",
		"operations: {a: {agreement: old}}":                      "want any or fresh",
		"operations: {a: {uid: n:x:v1}, b: {uid: n:x:v1}}":       "choose another uid",
		"operations: {a: {}, a: {}}":                             "duplicate key",
		"selection: {new: some}":                                 "want reads, all or none",
		"operations: {a: {description: \"a\\u0007\"}}":           "is not valid: want text of at most",
		"operations: [":                                          "not valid YAML",
		"operations: {" + strings.Repeat("x: {}, ", 1<<18) + "}": "",
	} {
		_, err := curation.Read([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %.300v; want %q", text, err, want)
		}
	}
}

// Five thousand operations are read, changed and written.
func TestLargeFiles(t *testing.T) {
	f, err := curation.Read(nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range curation.MaxOperations - 1 {
		key := fmt.Sprintf("operationNumber%d", i)
		f.Add(key, curation.Operation{UID: "shop.example:" + strings.ToLower(key) + ":v1", Hidden: curation.Hidden}, "GET /"+key+", reads")
	}
	f = read(t, write(t, f))
	f.Add("last", curation.Operation{Hidden: curation.Offered}, "")
	if text := write(t, f); !strings.HasSuffix(text, "  last: {hidden: false}\n") ||
		strings.Count(text, "hidden: true,") != curation.MaxOperations-1 {
		t.Errorf("got %.2000s", text)
	}
}

package yamlconf_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/internal/yamlconf"
)

type key struct {
	Owner string `yaml:"owner" doc:"Whose key it is."`
	Text  string `yaml:"text" required:"true" short:"true" pattern:"^[a-z]+$" doc:"The key itself."`
}

type shop struct {
	Name  string            `yaml:"name" required:"true" example:"corner" doc:"What it is called."`
	Open  time.Duration     `yaml:"open" default:"8h" min:"1h" max:"24h" doc:"Hours per day."`
	Kind  string            `yaml:"kind" default:"food" enum:"food,tools" doc:"What it sells."`
	Keys  []key             `yaml:"keys" max:"2" doc:"Who may open it."`
	Rooms map[string][]bool `yaml:"rooms" doc:"Lamps by room."`
	Sign  string            `yaml:"sign" enum:"lit" doc:"lit: at night too."`
	Extra yamlconf.Tree     `yaml:"extra" doc:"Anything."`
	Notes string            `yaml:"-"`
}

func environment(name string) (string, bool) { return "tools", name == "KIND" }

func TestDecode(t *testing.T) {
	got := shop{}
	text := "name: a\nkind: ${KIND}\nkeys: [x, {owner: o, text: y}]\nrooms: {hall: [true], attic: }\nextra: {n: 1.50, l: [~, no]}\n"
	doc, bad := yamlconf.Decode([]byte(text), &got, yamlconf.Options{File: "shop.yaml", Env: environment})
	if bad != nil || len(doc.Problems()) > 0 {
		t.Fatalf("problems %v, %v; want none", bad, doc.Problems())
	}
	extra := fmt.Sprint(got.Extra)
	got.Extra = yamlconf.Tree{}
	want := shop{
		Name: "a", Open: 8 * time.Hour, Kind: "tools", Keys: []key{{Text: "x"}, {"o", "y"}},
		Rooms: map[string][]bool{"hall": {true}, "attic": nil},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if want := "{map[l:[<nil> no] n:1.50] true}"; extra != want {
		t.Errorf("extra is %s, want %s", extra, want)
	}
	if !doc.Has("keys[1].owner") || doc.Has("open") || doc.Has("keys[0].text") {
		t.Error("Has must report only keys in the document itself")
	}
	if at, want := doc.Positions().Nearest(`rooms["hall"][0].x`), (yamlconf.Position{Line: 4, Column: 16}); at != want {
		t.Errorf("nearest position %v, want %v", at, want)
	}
}

func TestDecodeProblems(t *testing.T) {
	for text, want := range map[string][]string{
		"":                              {"f:1: name: is required: What it is called."},
		"name: a\nkid: food\n":          {`f:2: unknown key "kid": did you mean "kind"?`},
		"name: a\nowner: food\n":        {`f:2: unknown key "owner": it belongs under keys[]`},
		"name: a\nopen: 25h\n":          {`f:2: open: "25h" is more than the maximum of 24h`},
		"name: a\nsign: dark\n":         {`f:2: sign: "dark" is not valid: want lit`},
		"name: a\nkeys: [x, y, z]\n":    {"f:2: keys: has 3 entries: at most 2 are allowed"},
		"name: a\nkeys: [{owner: o}]\n": {"f:2: keys[0].text: is required: The key itself."},
		"name: a\nkind: ${NONE}\n":      {"f:2: kind: the environment variable NONE is not set: set it, or write ${NONE:-default}"},
		"name: a\nextra: {x: .inf}\n":   {`f:2: extra.x: ".inf" is not a valid JSON number: write it in full, or in quotes`},
		"name: a\nopen: 0s\nname: b\nx: 1": {
			`f:2: open: "0s" is less than the minimum of 1h`,
			"f:3: duplicate key: it is already on line 1",
			`f:4: unknown key "x": known keys are name, open, kind, keys, rooms, sign, extra`,
		},
		"name: [":                           {"f:1: not valid YAML: sequence end token ']' not found"},
		strings.Repeat("#", 1<<20) + "\n #": {"f: the shop is larger than the 1048576 bytes allowed"},
	} {
		doc, bad := yamlconf.Decode([]byte(text), &shop{}, yamlconf.Options{File: "f", What: "the shop", Env: environment})
		var got []string
		if bad != nil {
			got = append(got, bad.String())
		} else {
			for _, p := range doc.Problems() {
				got = append(got, p.String())
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%.40q (-want +got):\n%s", text, diff)
		}
	}
}

func TestProblemsOfAnOverrideNameItsOrigin(t *testing.T) {
	doc, _ := yamlconf.Decode([]byte("name: a\n"), &shop{}, yamlconf.Options{File: "f"})
	doc.Override("name", "--name")
	doc.Errorf("name", "is taken")
	if got, want := doc.Problems().Err().Error(), "--name: name: is taken"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestReferenceAndSchemaComeFromTheTags(t *testing.T) {
	reference := string(yamlconf.Types{}.Reference(reflect.TypeFor[shop](), "https://example.com/schema"))
	for _, want := range []string{
		"name: corner\n", "# Hours per day. 1h to 24h.\nopen: 8h\n", "# One of food or tools.\n", "keys: []\n",
		"rooms: {}\n", "# lit: at night too.\nsign:\n",
	} {
		if !strings.Contains(reference, want) {
			t.Errorf("the reference lacks %q:\n%s", want, reference)
		}
	}
	schema, err := yamlconf.Types{}.Schema(&shop{}, "https://example.com/schema", "shop")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"^[a-z]+$|\\$\\{"`, `"maxItems": 2`, `"tools"`, `"default": "8h"`} {
		if !strings.Contains(string(schema), want) {
			t.Errorf("the schema lacks %s:\n%s", want, schema)
		}
	}
}

func ExampleDecode() {
	var config struct {
		Listen string        `yaml:"listen" default:"127.0.0.1:8080" doc:"Address and port."`
		Wait   time.Duration `yaml:"wait" default:"10s" max:"1m" doc:"Time to wait."`
		Names  []string      `yaml:"names" doc:"Who is waited for."`
	}
	text := "names: [a, b]\nwait: 2m\nlisten_on: :80\n"
	doc, bad := yamlconf.Decode([]byte(text), &config, yamlconf.Options{File: "wait.yaml"})
	if bad != nil {
		fmt.Println(bad)
		return
	}
	if slices.Contains(config.Names, "b") {
		doc.Warnf("names[1]", "b never comes")
	}
	for _, problem := range doc.Problems() {
		fmt.Println(problem)
	}
	fmt.Println(config.Listen)
	// Output:
	// wait.yaml:1: warning: names[1]: b never comes
	// wait.yaml:2: wait: "2m" is more than the maximum of 1m
	// wait.yaml:3: unknown key "listen_on": did you mean "listen"?
	// 127.0.0.1:8080
}

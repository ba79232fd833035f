// Package cases decides requests that are listed in documents. A Table contains requests with the expected result of each; a line of a
// Batch contains a request and its policy. A Table is in YAML, and is parsed as strictly as the configuration.
package cases

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"

	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/internal/yamlconf"
	"github.com/uimgate/uimgate/odrl"
)

// A Table is a list of requests with the results that a policy is expected to give.
type Table struct {
	Policy   yamlconf.Tree `yaml:"policy" doc:"the policy of all cases: the path of a file, relative to the directory of this one, or the policy itself"`
	Defaults Defaults      `yaml:"defaults" doc:"defaults for all cases"`
	Cases    []Case        `yaml:"cases" required:"true" max:"10000" doc:"the list of cases"`

	// Path is the path of the table.
	Path string `yaml:"-"`
}

// Defaults are values that the cases of one table share. A key of a case takes precedence over the same key here.
type Defaults struct {
	Request  yamlconf.Tree `yaml:"request" doc:"party, action, target and context"`
	World    yamlconf.Tree `yaml:"world" doc:"the state of the world"`
	DutyMode odrl.DutyMode `yaml:"duty_mode" enum:"fulfilled,notViolated" doc:"the state that a permission requires of its duties"`
	Lenient  bool          `yaml:"lenient" doc:"read policies leniently"`
}

// A Case is one request and its expected result.
type Case struct {
	Name     string        `yaml:"name" required:"true" doc:"what the case tests, in a few words"`
	Policy   yamlconf.Tree `yaml:"policy" doc:"the policy of this case, if it has its own"`
	Request  yamlconf.Tree `yaml:"request" doc:"party, action, target and context"`
	World    yamlconf.Tree `yaml:"world" doc:"the state of the world"`
	DutyMode odrl.DutyMode `yaml:"duty_mode" enum:"fulfilled,notViolated" doc:"the state that a permission requires of its duties"`
	Lenient  bool          `yaml:"lenient" doc:"read the policy leniently"`
	Expect   Expectation   `yaml:"expect" required:"true" doc:"the expected result"`

	// File is the path of the policy file, absolute or relative to the current directory. It is empty if Policy contains the policy itself.
	File string `yaml:"-"`
	// Line is the line of the case, and Lines those of the keys of Expect.
	Line  int            `yaml:"-"`
	Lines map[string]int `yaml:"-"`
}

// Load reads the table at path. The Table is nil if one of the Problems is an error.
func Load(path string) (*Table, yamlconf.Problems) {
	data, err := yamlconf.ReadFile(path, yamlconf.MaxDocument)
	if err != nil {
		return nil, yamlconf.Problems{{File: path, Level: problem.Error, Message: err.Error()}}
	}
	return Parse(path, data)
}

// A loader adds the defaults to the cases of one table.
type loader struct {
	*yamlconf.Document

	dir string
}

// Parse parses the contents of a table file, and adds the defaults and the policy of the table to each case. path is for messages and for
// relative paths of policies; the file itself need not exist. Parse does not expand ${NAME}.
func Parse(path string, data []byte) (*Table, yamlconf.Problems) {
	f := &Table{Path: path}
	doc, bad := yamlconf.Decode(data, f, yamlconf.Options{File: path, What: "the table"})
	if bad != nil {
		return nil, yamlconf.Problems{*bad}
	}
	l := &loader{doc, filepath.Dir(path)}
	for i := range f.Cases {
		l.complete(f, i)
	}
	if len(f.Cases) == 0 && len(l.Problems()) == 0 {
		l.Errorf("cases", "the table has no cases")
	}
	problems := l.Problems()
	if problems.Failed() {
		return nil, problems
	}
	return f, problems
}

// complete adds to a case the parts that the table has for all cases.
func (l *loader) complete(f *Table, i int) {
	c, at := &f.Cases[i], fmt.Sprintf("cases[%d]", i)
	from, where := c.Policy, at+".policy"
	if !from.Set {
		from, where = f.Policy, "policy"
	}
	switch source := from.Value.(type) {
	case string:
		c.Policy, c.File = yamlconf.Tree{}, source
		if !filepath.IsAbs(source) {
			c.File = filepath.Join(l.dir, source)
		}
	case map[string]any:
		c.Policy = from
	default:
		if !from.Set {
			l.Errorf(at, "has no policy, and the file has none for all cases")
		} else {
			l.Errorf(where, "want the path of a policy, or the policy itself")
		}
	}
	c.Request = l.merged(at+".request", c.Request, "defaults.request", f.Defaults.Request)
	c.World = l.merged(at+".world", c.World, "defaults.world", f.Defaults.World)
	c.DutyMode = cmp.Or(c.DutyMode, f.Defaults.DutyMode)
	c.Lenient = c.Lenient || f.Defaults.Lenient
	positions := l.Positions()
	c.Line, c.Lines = positions.Nearest(at).Line, map[string]int{}
	for key := range yamlconf.Fields(reflect.TypeFor[Expectation]()) {
		c.Lines[key] = positions.Nearest(at + ".expect." + key).Line
	}
}

// merged returns own with the keys that only defaults has. It merges the members of context in the same way.
func (l *loader) merged(at string, own yamlconf.Tree, defaultsAt string, defaults yamlconf.Tree) yamlconf.Tree {
	first, ok := own.Value.(map[string]any)
	second, ok2 := defaults.Value.(map[string]any)
	switch {
	case own.Set && !ok:
		l.Errorf(at, "want keys and values")
	case defaults.Set && !ok2:
		if !l.Failed(defaultsAt) {
			l.Errorf(defaultsAt, "want keys and values")
		}
	}
	out := maps.Clone(second)
	if out == nil {
		out = map[string]any{}
	}
	maps.Copy(out, first)
	inner, ok := first["context"].(map[string]any)
	shared, ok2 := second["context"].(map[string]any)
	if ok && ok2 {
		both := maps.Clone(shared)
		maps.Copy(both, inner)
		out["context"] = both
	}
	return yamlconf.Tree{Value: out, Set: true}
}

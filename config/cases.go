package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"

	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/internal/yamlconf"
)

// A DutyMode says when the duties of a permission stand in its way: while they are not fulfilled, or only
// when they are violated. Empty is fulfilled.
type DutyMode string

// The values of duty_mode.
const (
	DutyFulfilled   DutyMode = "fulfilled"
	DutyNotViolated DutyMode = "notViolated"
)

// A CaseFile is a table of requests and the answers a policy must give to them. It is YAML and read as
// strictly as the configuration, which is why it is read here.
type CaseFile struct {
	Policy   yamlconf.Tree `yaml:"policy" doc:"the policy of all cases: the path of its file, from the directory of this one, or the policy itself"`
	Defaults CaseDefaults  `yaml:"defaults" doc:"what the cases share"`
	Cases    []Case        `yaml:"cases" required:"true" max:"10000" doc:"the table"`
}

// CaseDefaults are what the cases of one file share. What a case says itself comes first, key by key.
type CaseDefaults struct {
	Request  yamlconf.Tree `yaml:"request" doc:"party, action, target and context"`
	World    yamlconf.Tree `yaml:"world" doc:"the state of the world"`
	DutyMode DutyMode      `yaml:"duty_mode" enum:"fulfilled,notViolated" doc:"when a duty stands in the way of its permission"`
	Lenient  bool          `yaml:"lenient" doc:"read policies leniently"`
}

// A Case is one request and what must come of it.
type Case struct {
	Name     string        `yaml:"name" required:"true" doc:"what is tried, in a few words"`
	Policy   yamlconf.Tree `yaml:"policy" doc:"the policy of this case, if it is another"`
	Request  yamlconf.Tree `yaml:"request" doc:"party, action, target and context"`
	World    yamlconf.Tree `yaml:"world" doc:"the state of the world"`
	DutyMode DutyMode      `yaml:"duty_mode" enum:"fulfilled,notViolated" doc:"when a duty stands in the way of its permission"`
	Lenient  bool          `yaml:"lenient" doc:"read the policy leniently"`
	Expect   Expected      `yaml:"expect" required:"true" doc:"what the answer must be"`

	// File is the policy's file as it can be opened; empty where Policy holds the policy itself.
	File string `yaml:"-"`
	// Line is where the case stands, and Lines where each key of Expect does.
	Line  int            `yaml:"-"`
	Lines map[string]int `yaml:"-"`
}

// Expected is what an answer must be; what is not set may be anything.
type Expected struct {
	Decision string           `yaml:"decision" required:"true" enum:"permit,deny" doc:"permit or deny"`
	Code     yamlconf.Tree    `yaml:"code" doc:"the reason of a denial; null for none"`
	Rule     yamlconf.Tree    `yaml:"rule" doc:"the rule that decided: its uid, else its JSON pointer; null for none"`
	Limits   []ExpectedLimit  `yaml:"limits" doc:"all limits of the winning rule, in any order"`
	Charges  []ExpectedCharge `yaml:"charges" doc:"all charges of the winning rule, in any order"`
	Duties   []ExpectedDuty   `yaml:"duties" doc:"all duties of the winning rule, in any order"`
}

// An ExpectedLimit is one limit of an answer.
type ExpectedLimit struct {
	Max      yamlconf.Tree `yaml:"max" doc:"how often"`
	PeriodS  yamlconf.Tree `yaml:"period_s" doc:"in how many seconds; null for a calendar period or for ever"`
	Calendar yamlconf.Tree `yaml:"calendar" doc:"month or year"`
	Key      yamlconf.Tree `yaml:"key" doc:"the id of the counter"`
}

// An ExpectedCharge is one charge of an answer.
type ExpectedCharge struct {
	Amount   yamlconf.Tree `yaml:"amount" doc:"a decimal"`
	Currency yamlconf.Tree `yaml:"currency" doc:"ISO 4217"`
	Rule     yamlconf.Tree `yaml:"rule" doc:"the duty that asks for it"`
}

// An ExpectedDuty is one duty of an answer.
type ExpectedDuty struct {
	Rule   yamlconf.Tree `yaml:"rule" doc:"the duty: its uid, else its JSON pointer"`
	Action yamlconf.Tree `yaml:"action" doc:"what is to be done"`
	Of     yamlconf.Tree `yaml:"of" doc:"the rule whose duty, remedy or consequence it is"`
	Target yamlconf.Tree `yaml:"target" doc:"to what"`
	Party  yamlconf.Tree `yaml:"party" doc:"by whom"`
}

// LoadCases reads the table at path. The CaseFile is nil if a Problem is an error.
func LoadCases(path string) (*CaseFile, Problems) {
	data, err := readFile(path, yamlconf.MaxDocument)
	if err != nil {
		return nil, Problems{{File: path, Level: problem.Error, Message: err.Error()}}
	}
	return ParseCases(path, data)
}

// A caseLoader gives the cases of one file their defaults.
type caseLoader struct {
	*yamlconf.Document

	dir string
}

// ParseCases is LoadCases for the text of a file that is, or is to be, at path. Each case comes with the
// defaults of the file in it, and with its policy. ${NAME} has no meaning here.
func ParseCases(path string, data []byte) (*CaseFile, Problems) {
	f := &CaseFile{}
	doc, bad := yamlconf.Decode(data, f, yamlconf.Options{File: path, What: "the table"})
	if bad != nil {
		return nil, Problems{*bad}
	}
	l := &caseLoader{doc, filepath.Dir(path)}
	for i := range f.Cases {
		l.complete(f, i)
	}
	if len(f.Cases) == 0 && len(l.Problems()) == 0 {
		l.Errorf("cases", "there is no case")
	}
	problems := l.Problems()
	if problems.Failed() {
		return nil, problems
	}
	return f, problems
}

// complete gives a case what it takes from the file.
func (l *caseLoader) complete(f *CaseFile, i int) {
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
			l.Errorf(at, "has no policy, and the file names none for all of its cases")
		} else {
			l.Errorf(where, "want the path of a policy, or the policy itself")
		}
	}
	c.Request = l.merged(at+".request", c.Request, "defaults.request", f.Defaults.Request)
	c.World = l.merged(at+".world", c.World, "defaults.world", f.Defaults.World)
	if c.DutyMode == "" {
		c.DutyMode = f.Defaults.DutyMode
	}
	c.Lenient = c.Lenient || f.Defaults.Lenient
	positions := l.Positions()
	c.Line, c.Lines = positions.Nearest(at).Line, map[string]int{}
	for key := range yamlconf.Fields(reflect.TypeFor[Expected]()) {
		c.Lines[key] = positions.Nearest(at + ".expect." + key).Line
	}
}

// merged is a mapping with what the defaults have beside; one level deeper for context.
func (l *caseLoader) merged(at string, own yamlconf.Tree, defaultsAt string, defaults yamlconf.Tree) yamlconf.Tree {
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

// Wanted is what is expected as a JSON value, with only the keys that are set.
func (e *Expected) Wanted() map[string]any {
	out := map[string]any{"decision": e.Decision}
	for key, t := range map[string]yamlconf.Tree{"code": e.Code, "rule": e.Rule} {
		if t.Set {
			out[key] = t.Value
		}
	}
	list(out, "limits", e.Limits)
	list(out, "charges", e.Charges)
	list(out, "duties", e.Duties)
	return out
}

// list adds the items of a list to object, unless the list is not set.
func list[T any](object map[string]any, key string, items []T) {
	if items == nil {
		return
	}
	objects := make([]any, 0, len(items))
	for _, item := range items {
		objects = append(objects, setKeys(reflect.ValueOf(item)))
	}
	object[key] = objects
}

// setKeys returns a struct of Trees as a JSON object.
func setKeys(v reflect.Value) map[string]any {
	out := map[string]any{}
	for key, f := range yamlconf.Fields(v.Type()) {
		if t, ok := reflect.TypeAssert[yamlconf.Tree](v.FieldByIndex(f.Index)); ok && t.Set {
			out[key] = t.Value
		}
	}
	return out
}

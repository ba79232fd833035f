package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/uimgate/uimgate/internal/problem"
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
	Policy   Tree         `yaml:"policy" doc:"the policy of all cases: the path of its file, from the directory of this one, or the policy itself"`
	Defaults CaseDefaults `yaml:"defaults" doc:"what the cases share"`
	Cases    []Case       `yaml:"cases" required:"true" max:"10000" doc:"the table"`
}

// CaseDefaults are what the cases of one file share. What a case says itself comes first, key by key.
type CaseDefaults struct {
	Request  Tree     `yaml:"request" doc:"party, action, target and context"`
	World    Tree     `yaml:"world" doc:"the state of the world"`
	DutyMode DutyMode `yaml:"duty_mode" enum:"fulfilled,notViolated" doc:"when a duty stands in the way of its permission"`
	Lenient  bool     `yaml:"lenient" doc:"read policies leniently"`
}

// A Case is one request and what must come of it.
type Case struct {
	Name     string   `yaml:"name" required:"true" doc:"what is tried, in a few words"`
	Policy   Tree     `yaml:"policy" doc:"the policy of this case, if it is another"`
	Request  Tree     `yaml:"request" doc:"party, action, target and context"`
	World    Tree     `yaml:"world" doc:"the state of the world"`
	DutyMode DutyMode `yaml:"duty_mode" enum:"fulfilled,notViolated" doc:"when a duty stands in the way of its permission"`
	Lenient  bool     `yaml:"lenient" doc:"read the policy leniently"`
	Expect   Expected `yaml:"expect" required:"true" doc:"what the answer must be"`

	// File is the policy's file as it can be opened; empty where Policy holds the policy itself.
	File string `yaml:"-"`
	// Line is where the case stands, and Lines where each key of Expect does.
	Line  int            `yaml:"-"`
	Lines map[string]int `yaml:"-"`
}

// Expected is what an answer must be; what is not set may be anything.
type Expected struct {
	Decision string           `yaml:"decision" required:"true" enum:"permit,deny" doc:"permit or deny"`
	Code     Tree             `yaml:"code" doc:"the reason of a denial; null for none"`
	Rule     Tree             `yaml:"rule" doc:"the rule that decided: its uid, else its JSON pointer; null for none"`
	Limits   []ExpectedLimit  `yaml:"limits" doc:"all limits of the winning rule, in any order"`
	Charges  []ExpectedCharge `yaml:"charges" doc:"all charges of the winning rule, in any order"`
	Duties   []ExpectedDuty   `yaml:"duties" doc:"all duties of the winning rule, in any order"`
}

// An ExpectedLimit is one limit of an answer.
type ExpectedLimit struct {
	Max      Tree `yaml:"max" doc:"how often"`
	PeriodS  Tree `yaml:"period_s" doc:"in how many seconds; null for a calendar period or for ever"`
	Calendar Tree `yaml:"calendar" doc:"month or year"`
	Key      Tree `yaml:"key" doc:"the id of the counter"`
}

// An ExpectedCharge is one charge of an answer.
type ExpectedCharge struct {
	Amount   Tree `yaml:"amount" doc:"a decimal"`
	Currency Tree `yaml:"currency" doc:"ISO 4217"`
	Rule     Tree `yaml:"rule" doc:"the duty that asks for it"`
}

// An ExpectedDuty is one duty of an answer.
type ExpectedDuty struct {
	Rule   Tree `yaml:"rule" doc:"the duty: its uid, else its JSON pointer"`
	Action Tree `yaml:"action" doc:"what is to be done"`
	Of     Tree `yaml:"of" doc:"the rule whose duty, remedy or consequence it is"`
	Target Tree `yaml:"target" doc:"to what"`
	Party  Tree `yaml:"party" doc:"by whom"`
}

// LoadCases reads the table at path. The CaseFile is nil if a Problem is an error.
func LoadCases(path string) (*CaseFile, Problems) {
	data, err := readFile(path, maxDocument)
	if err != nil {
		return nil, Problems{{File: path, Level: problem.Error, Message: err.Error()}}
	}
	return ParseCases(path, data)
}

// ParseCases is LoadCases for the text of a file that is, or is to be, at path. Each case comes with the
// defaults of the file in it, and with its policy. ${NAME} has no meaning here.
func ParseCases(path string, data []byte) (*CaseFile, Problems) {
	if len(data) > maxDocument {
		return nil, Problems{{File: path, Level: problem.Error, Message: tooLarge("the table", maxDocument).Error()}}
	}
	doc, at, err := parseDocument(data)
	if err != nil {
		return nil, Problems{{path, at.line, at.column, problem.Error, err.Error()}}
	}
	d := newDecoder(path, reflect.TypeFor[CaseFile](), nil)
	d.doc = doc
	f := &CaseFile{}
	v := reflect.ValueOf(f).Elem()
	if doc.root == nil || isNull(doc.root) {
		d.missing("", v.Type(), nil)
	} else {
		d.value("", doc.root, v, "")
	}
	for i := range f.Cases {
		d.finish(f, i)
	}
	if len(f.Cases) == 0 && len(d.problems) == 0 {
		d.errorf("cases", "there is no case")
	}
	problems := d.sorted()
	if problems.Failed() {
		return nil, problems
	}
	return f, problems
}

// finish gives a case what it takes from the file.
func (d *decoder) finish(f *CaseFile, i int) {
	c, at := &f.Cases[i], fmt.Sprintf("cases[%d]", i)
	from, where := c.Policy, at+".policy"
	if !from.Set {
		from, where = f.Policy, "policy"
	}
	switch source := from.Value.(type) {
	case string:
		c.Policy, c.File = Tree{}, source
		if !filepath.IsAbs(source) {
			c.File = filepath.Join(filepath.Dir(d.file), source)
		}
	case map[string]any:
		c.Policy = from
	default:
		if !from.Set {
			d.errorf(at, "has no policy, and the file names none for all of its cases")
		} else {
			d.errorf(where, "want the path of a policy, or the policy itself")
		}
	}
	c.Request = d.merged(at+".request", c.Request, "defaults.request", f.Defaults.Request)
	c.World = d.merged(at+".world", c.World, "defaults.world", f.Defaults.World)
	if c.DutyMode == "" {
		c.DutyMode = f.Defaults.DutyMode
	}
	c.Lenient = c.Lenient || f.Defaults.Lenient
	c.Line, c.Lines = nearestPosition(d.positions, at).line, map[string]int{}
	for _, key := range keysOf(reflect.TypeFor[Expected]()) {
		c.Lines[key] = nearestPosition(d.positions, at+".expect."+key).line
	}
}

// merged is a mapping with what the defaults have beside; one level deeper for context.
func (d *decoder) merged(at string, own Tree, defaultsAt string, defaults Tree) Tree {
	first, ok := own.Value.(map[string]any)
	second, ok2 := defaults.Value.(map[string]any)
	switch {
	case own.Set && !ok:
		d.errorf(at, "want keys and values")
	case defaults.Set && !ok2:
		if !d.failed[defaultsAt] {
			d.errorf(defaultsAt, "want keys and values")
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
	return Tree{Value: out, Set: true}
}

// Wanted is what is expected as a JSON value, with only the keys that are set.
func (e *Expected) Wanted() map[string]any {
	out := map[string]any{"decision": e.Decision}
	for key, t := range map[string]Tree{"code": e.Code, "rule": e.Rule} {
		if t.Set {
			out[key] = t.Value
		}
	}
	v := reflect.ValueOf(e).Elem()
	for _, key := range []string{"limits", "charges", "duties"} {
		list := v.FieldByIndex(fieldsOf(v.Type())[key].Index)
		if list.IsNil() {
			continue
		}
		items := []any{}
		for i := range list.Len() {
			items = append(items, setKeys(list.Index(i)))
		}
		out[key] = items
	}
	return out
}

// setKeys is a struct of Trees as a JSON object.
func setKeys(v reflect.Value) map[string]any {
	out := map[string]any{}
	fields := fieldsOf(v.Type())
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if t, ok := reflect.TypeAssert[Tree](v.FieldByIndex(fields[key].Index)); ok && t.Set {
			out[key] = t.Value
		}
	}
	return out
}

package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/intents/openapi/read"
	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/internal/strictjson"
)

const maxRounds = 6

// settle reads the intent with package intents, as the gateway will, and removes the parts of its schemas that are rejected, such as
// patterns in another dialect, unknown formats and invalid limits. It returns an error if the intent is rejected for another reason, or
// still rejected after maxRounds attempts.
func (c *call) settle(uid intents.UID) error {
	for round := range maxRounds {
		data, err := json.Marshal(map[string]any{"service-info": map[string]any{"name": "x"}, "intents": []any{c.tree}})
		if err != nil {
			return fmt.Errorf("it cannot be encoded as JSON: %w", err)
		}
		_, problems := intents.Parse(data, intents.Options{Strict: true})
		if !problems.Failed() {
			return nil
		}
		fresh, err := strictjson.DecodeObject(data) // shares nothing with the document
		if err != nil {
			return fmt.Errorf("it cannot be encoded as JSON: %w", err)
		}
		c.tree = read.Object(read.List(fresh["intents"])[0])
		for _, p := range slices.Backward(problems) { // later members of lists first
			if p.Level != problem.Error {
				continue
			}
			if err := c.repair(p, uid, round >= maxRounds-2); err != nil {
				return err
			}
		}
	}
	return errors.New("its parameters cannot be converted to valid schemas")
}

// repair removes the cause of one problem from the schema of a parameter. If harder is true, it removes the whole schema. It returns an
// error if the cause is not in the schema of a parameter.
func (c *call) repair(p problem.Problem, uid intents.UID, harder bool) error {
	message := strings.TrimPrefix(p.Message, "intent "+uid.String()+": ")
	tokens := strings.Split(strings.TrimPrefix(p.Pointer, "/intents/0/"), "/")
	if len(tokens) < 2 || tokens[0] != "input_parameters" && tokens[0] != "output_parameters" {
		return errors.New(message)
	}
	at, err := strconv.Atoi(tokens[1])
	all := read.List(c.tree[tokens[0]])
	if err != nil || at >= len(all) {
		return errors.New(message)
	}
	parameter := read.Object(all[at])
	what := fmt.Sprintf("parameter %s", read.Excerpt(read.Text(parameter["name"])))
	if tokens[0] == "output_parameters" {
		what = fmt.Sprintf("output %s", read.Excerpt(read.Text(parameter["name"])))
	}
	last := tokens[len(tokens)-1]
	if harder || len(tokens) < 3 || last == "name" || len(tokens) == 3 && last == "$defs" {
		if last == "name" {
			return errors.New(message)
		}
		all[at] = minimal(parameter)
		c.report(fmt.Sprintf("%s is only checked for its type: %s", what, read.Line(message, 200)))
		return nil
	}
	if remove(parameter, tokens[2:]) {
		c.report(fmt.Sprintf("%s: %s is left out: %s", what, read.Line(strictjson.Unescape(last), 40), read.Line(message, 200)))
	}
	return nil
}

// remove deletes the target of a pointer, and reports whether there was one. An element of a list is replaced by a schema that accepts
// everything, so that the positions of the other elements do not change.
func remove(v any, tokens []string) bool {
	name := strictjson.Unescape(tokens[0])
	switch v := v.(type) {
	case map[string]any:
		next, ok := v[name]
		if !ok {
			return false
		}
		if len(tokens) == 1 {
			delete(v, name)
			return true
		}
		return remove(next, tokens[1:])
	case []any:
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i >= len(v) {
			return false
		}
		if len(tokens) == 1 {
			v[i] = map[string]any{}
			return true
		}
		return remove(v[i], tokens[1:])
	default:
		return false
	}
}

// minimal returns a parameter with only those members that are never rejected.
func minimal(p map[string]any) map[string]any {
	out := map[string]any{"name": p["name"], "type": "any"}
	for _, name := range []string{"description", "from"} {
		if v, ok := p[name]; ok {
			out[name] = v
		}
	}
	if t, ok := p["type"].(string); ok && slices.Contains(knownTypes, t) {
		out["type"] = t
	}
	if b, ok := p["required"].(bool); ok {
		out["required"] = b
	}
	return maps.Clone(out)
}

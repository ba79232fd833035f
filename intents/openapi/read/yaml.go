package read

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/uimgate/uimgate/internal/strictjson"
)

const (
	maxNodes = 4_000_000 // values; the value of an alias counts each time the alias is used
	maxMarks = 8_000_000 // bytes that can begin or separate values; they are counted before parsing, to bound the work of the parser
)

// decodeYAML reads a YAML document as the tree of the equivalent JSON.
func decodeYAML(data []byte, left *budget) (root map[string]any, err error) {
	defer func() { // panics of the parser
		if r := recover(); r != nil {
			root, err = nil, errors.New("it is not valid YAML")
		}
	}()
	for _, mark := range []string{"\n", ",", ":", "[", "{"} {
		left.marks -= bytes.Count(data, []byte(mark))
	}
	if left.marks < 0 {
		return nil, errors.New("it contains more YAML than can be read: convert it to JSON")
	}
	var node yaml.Node
	if err := yaml.Unmarshal(data, &node); err != nil {
		return nil, fmt.Errorf("it is not valid YAML: %s", Line(strings.TrimPrefix(err.Error(), "yaml: "), 200))
	}
	if node.Kind != yaml.DocumentNode || len(node.Content) != 1 {
		return nil, errors.New("it is empty")
	}
	r := yamlReader{left: left, open: map[*yaml.Node]bool{}}
	v, err := r.value(node.Content[0], 0)
	if err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("it is not an object but %s", strictjson.Kind(v))
	}
	return m, nil
}

type yamlReader struct {
	left *budget
	open map[*yaml.Node]bool // aliases being expanded
}

func (r *yamlReader) value(n *yaml.Node, depth int) (any, error) {
	if r.left.nodes--; r.left.nodes < 0 {
		return nil, fmt.Errorf("it contains more than %d values, including those of the files that were read before it", maxNodes)
	}
	if depth > strictjson.MaxDepth {
		return nil, fmt.Errorf("line %d: it is nested deeper than %d levels", n.Line, strictjson.MaxDepth)
	}
	switch n.Kind {
	case yaml.AliasNode:
		if n.Alias == nil || r.open[n.Alias] {
			return nil, fmt.Errorf("line %d: an alias refers to an anchor that contains it", n.Line)
		}
		r.open[n.Alias] = true
		defer delete(r.open, n.Alias)
		return r.value(n.Alias, depth)
	case yaml.SequenceNode:
		out := make([]any, 0, len(n.Content))
		for _, item := range n.Content {
			v, err := r.value(item, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	case yaml.MappingNode:
		return r.mapping(n, depth)
	case yaml.ScalarNode:
		return scalar(n)
	default:
		return nil, fmt.Errorf("line %d: this is not a YAML value", n.Line)
	}
}

func (r *yamlReader) mapping(n *yaml.Node, depth int) (any, error) {
	out := make(map[string]any, len(n.Content)/2)
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.AliasNode && key.Alias != nil {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode || strings.IndexByte(key.Value, 0) >= 0 {
			return nil, fmt.Errorf("line %d: a key is not a string", key.Line)
		}
		if key.ShortTag() == "!!merge" {
			merged = append(merged, value)
			continue
		}
		if _, twice := out[key.Value]; twice {
			return nil, fmt.Errorf("line %d: the key %s occurs twice in one object", key.Line, Excerpt(key.Value))
		}
		v, err := r.value(value, depth+1)
		if err != nil {
			return nil, err
		}
		out[key.Value] = v
	}
	for _, source := range merged { // an explicit member takes precedence over a merged one
		v, err := r.value(source, depth)
		if err != nil {
			return nil, err
		}
		from := []any{v}
		if several, ok := v.([]any); ok {
			from = several
		}
		for _, one := range from {
			for name, member := range Object(one) {
				if _, have := out[name]; !have {
					out[name] = member
				}
			}
		}
	}
	return out, nil
}

// scalar returns the value of a scalar as in JSON. Dates, and numbers that JSON does not have, become strings.
func scalar(n *yaml.Node) (any, error) {
	if strings.IndexByte(n.Value, 0) >= 0 {
		return nil, fmt.Errorf("line %d: a string contains the character U+0000", n.Line)
	}
	switch n.ShortTag() {
	case "!!null":
		return nil, nil //nolint:nilnil // YAML's null is the value nil
	case "!!bool":
		b, err := strconv.ParseBool(strings.ToLower(n.Value))
		if err != nil {
			return n.Value, nil //nolint:nilerr // values such as yes and no are strings in YAML 1.2
		}
		return b, nil
	case "!!int", "!!float":
		return number(n.Value), nil
	default:
		return n.Value, nil
	}
}

func number(s string) any {
	if v, err := strictjson.Decode([]byte(s)); err == nil {
		if n, ok := v.(json.Number); ok {
			return n
		}
	}
	const most = 100
	plain := strings.TrimPrefix(strings.ReplaceAll(s, "_", ""), "+")
	if len(plain) > most {
		return s
	}
	if i, ok := new(big.Int).SetString(plain, 0); ok {
		return json.Number(i.String())
	}
	if f, err := strconv.ParseFloat(plain, 64); err == nil {
		if v, err := strictjson.Decode([]byte(strconv.FormatFloat(f, 'g', -1, 64))); err == nil {
			return v
		}
	}
	return s
}

package odrl

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
)

// Hidden returns a copy of facts in which the SHA-256 of its JSON, in hexadecimal digits, replaces the value of each of the operands. It
// also returns the names of the replaced facts. Operands that facts lacks are ignored.
func Hidden(facts map[string]any, operands []string) (map[string]any, []string) {
	out, names := maps.Clone(facts), []string{}
	for _, operand := range operands {
		v, read := facts[operand]
		if !read {
			continue
		}
		text, err := json.Marshal(v)
		if err != nil {
			text = nil
		}
		sum := sha256.Sum256(text)
		out[operand] = hex.EncodeToString(sum[:])
		names = append(names, operand)
	}
	return out, names
}

// Hiding returns a copy of the reproduction in which Hidden replaces the values of operands.
func (r Reproduction) Hiding(operands []string) Reproduction {
	if len(operands) > 0 {
		r.Question.Context, _ = Hidden(r.Question.Context, operands)
	}
	return r
}

package odrl

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
)

// Bundle writes the policy as an OPA bundle: the semantics modules and the policy's data. With it and an
// Input, plain OPA gives the findings that Evaluate goes by:
//
//	opa eval --bundle bundle.tar.gz --input input.json data.uimgate.odrl.evaluation
//
// The rules are in data.policy, by the numbers that the findings name. The revision is the SHA-256 of the
// document, in hex.
func (p *Policy) Bundle(w io.Writer) error {
	raw, err := p.EvaluationData()
	if err != nil {
		return err
	}
	var data map[string]any
	if err := json.Unmarshal(raw, &data); err != nil {
		return fmt.Errorf("reading the policy's data: %w", err)
	}
	version := 1
	sum := sha256.Sum256(p.document)
	b := bundle.Bundle{
		Data: data,
		Manifest: bundle.Manifest{
			Revision: hex.EncodeToString(sum[:]), Roots: &[]string{"policy", "uimgate/odrl"}, RegoVersion: &version,
		},
	}
	for _, m := range []struct{ name, text string }{{"semantics.rego", semantics}, {"levels.rego", levels}, {"report.rego", reports}} {
		parsed, err := ast.ParseModuleWithOpts(m.name, m.text, ast.ParserOptions{RegoVersion: ast.RegoV1})
		if err != nil {
			return fmt.Errorf("reading %s: %w", m.name, err)
		}
		path := "/uimgate/odrl/" + m.name
		b.Modules = append(b.Modules, bundle.ModuleFile{URL: path, Path: path, RelativePath: path, Raw: []byte(m.text), Parsed: parsed})
	}
	if err := bundle.NewWriter(w).DisableFormat(true).Write(b); err != nil {
		return fmt.Errorf("writing the bundle: %w", err)
	}
	return nil
}

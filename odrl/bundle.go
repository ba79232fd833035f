package odrl

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/odrl/internal/model"
	"github.com/uimgate/uimgate/odrl/internal/plan"
	"github.com/uimgate/uimgate/odrl/internal/rules"
)

// Bundle writes the policy as an OPA bundle (tar.gz). The bundle contains the semantics modules, the policy's data and, for people to read,
// the residual: the result of partial evaluation of the modules with this data. With the DecideInput of a request, plain OPA finds the same
// rules active as Decide:
//
//	opa eval -b bundle.tar.gz -i input.json data.uimgate.odrl.outcome
//
// The bundle of a policy from Load contains the data of EvaluationData instead: query data.uimgate.odrl.evaluation with Input.
//
// The revision of the bundle is the policy's digest, which agents sign: the SHA-256 of its RFC 8785 form. Equal policies that were
// published with equal Worlds give equal bytes.
func (p *Policy) Bundle(w io.Writer) error {
	revision, err := p.revision()
	if err != nil {
		return err
	}
	manifest, err := json.Marshal(map[string]any{"revision": revision, "roots": []string{"policy", "uimgate/odrl"}, "rego_version": 1})
	if err != nil {
		return fmt.Errorf("writing the manifest: %w", err)
	}
	var data []byte
	if p.program == nil {
		data, err = p.EvaluationData()
	} else {
		data, err = json.MarshalIndent(p.program.Engine.Data, "", " ")
	}
	if err != nil {
		return fmt.Errorf("writing the policy's data: %w", err)
	}
	z := gzip.NewWriter(w)
	t := tar.NewWriter(z)
	files := map[string][]byte{"/.manifest": manifest, "/data.json": data, "/residual.txt": p.residualText()}
	for name, text := range rules.Modules() {
		files["/uimgate/odrl/"+name] = []byte(text)
	}
	for _, name := range model.SortedKeys(files) {
		text := files[name]
		if err := t.WriteHeader(&tar.Header{
			Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(text)),
			Format: tar.FormatUSTAR,
		}); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
		if _, err := t.Write(text); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
	}
	if err := errors.Join(t.Close(), z.Close()); err != nil {
		return fmt.Errorf("writing the bundle: %w", err)
	}
	return nil
}

func (p *Policy) revision() (string, error) {
	tree, err := strictjson.Decode(p.document)
	if err != nil {
		return "", fmt.Errorf("reading the policy: %w", err)
	}
	canonical, err := strictjson.Canonical(tree)
	if err != nil {
		return "", fmt.Errorf("reading the policy: %w", err)
	}
	sum := sha256.Sum256(canonical)
	return "sha-256:" + base64.RawURLEncoding.EncodeToString(sum[:]), nil
}

// residualText returns the residual for people to read. OPA does not load it as a module.
func (p *Policy) residualText() []byte {
	var out bytes.Buffer
	switch {
	case p.program == nil:
		out.WriteString("# There is no residual: the policy is not published for a service.\n")
		return out.Bytes()
	case p.residual == nil:
		fmt.Fprintf(&out, "# There is no residual: %v\n", p.unplanned)
		return out.Bytes()
	}
	fmt.Fprintf(&out, "# The modules, partially evaluated for this policy: only the input is unknown.\n\n%s\n", p.residual.Result)
	for _, m := range p.residual.Modules {
		fmt.Fprintf(&out, "\n%s\n", m)
	}
	return out.Bytes()
}

// DecideInput returns the input document with which Decide queries OPA about a request. It is null if no rule of the policy concerns the
// intent.
func (p *Policy) DecideInput(r Request) ([]byte, error) {
	if !p.names(r.Intent) {
		return []byte("null"), nil
	}
	v, err := ast.JSON(p.inputs.Document((*plan.Request)(&r), false))
	if err != nil {
		return nil, fmt.Errorf("writing the input: %w", err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("writing the input: %w", err)
	}
	return b, nil
}

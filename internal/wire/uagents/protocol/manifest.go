package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
)

// ErrManifest means that JSON is not a manifest, or that its digests do not match its content.
var ErrManifest = errors.New("not a protocol manifest")

const (
	// MaxManifest limits the size of a manifest in bytes.
	MaxManifest = 1 << 20
	// maxModels limits the number of models in a manifest, and the number of interactions.
	maxModels = 256
	// manifestVersion is the version of the manifest format, not of the protocol.
	manifestVersion = "1.0"
	typeNormal      = "normal"
)

// A Manifest describes a published protocol. Digest covers the models and the interactions, but not the name and the version. The lists
// are sorted and must not be modified.
type Manifest struct {
	Name, Version string
	Digest        envelope.ProtocolDigest
	Models        []Model
	Interactions  []Interaction
}

// An Interaction is a message that an agent of the protocol accepts, with its possible replies. If Responses is empty, there is no reply.
type Interaction struct {
	Request   envelope.ModelDigest
	Responses []envelope.ModelDigest
}

// manifestJSON is the JSON of a Manifest.
type manifestJSON struct {
	Version  string `json:"version"`
	Metadata struct {
		Name    string                  `json:"name"`
		Version string                  `json:"version"`
		Digest  envelope.ProtocolDigest `json:"digest"`
	} `json:"metadata"`
	Models       []publishedModel       `json:"models"`
	Interactions []publishedInteraction `json:"interactions"`
}

type publishedModel struct {
	Digest envelope.ModelDigest `json:"digest"`
	Schema json.RawMessage      `json:"schema"`
}

type publishedInteraction struct {
	Type      string                 `json:"type"`
	Request   envelope.ModelDigest   `json:"request"`
	Responses []envelope.ModelDigest `json:"responses"`
}

// NewManifest returns the manifest of models and interactions. It sorts them, and removes repeated models. The errors are those of
// ParseManifest.
func NewManifest(name, version string, models []Model, interactions []Interaction) (Manifest, error) {
	byDigest := func(a, b Model) int { return strings.Compare(string(a.Digest), string(b.Digest)) }
	models = slices.CompactFunc(slices.SortedFunc(slices.Values(models), byDigest), func(a, b Model) bool { return a.Digest == b.Digest })
	m := Manifest{Name: name, Version: version, Models: models}
	for _, i := range interactions {
		i.Responses = slices.Sorted(slices.Values(i.Responses))
		m.Interactions = append(m.Interactions, i)
	}
	slices.SortFunc(m.Interactions, func(a, b Interaction) int { return strings.Compare(string(a.Request), string(b.Request)) })
	m.Digest = m.digest()
	text, err := m.MarshalJSON()
	if err != nil {
		return Manifest{}, fmt.Errorf("%w: %w", ErrManifest, err)
	}
	return ParseManifest(text)
}

// MarshalJSON encodes the manifest in the published form, which ParseManifest accepts.
func (m Manifest) MarshalJSON() ([]byte, error) {
	p := manifestJSON{Version: manifestVersion, Models: []publishedModel{}, Interactions: []publishedInteraction{}}
	p.Metadata.Name, p.Metadata.Version, p.Metadata.Digest = m.Name, m.Version, m.Digest
	for _, model := range m.Models {
		p.Models = append(p.Models, publishedModel{model.Digest, model.Schema})
	}
	for _, i := range m.Interactions {
		p.Interactions = append(p.Interactions, publishedInteraction{typeNormal, i.Request, append([]envelope.ModelDigest{}, i.Responses...)})
	}
	return json.Marshal(p)
}

// ParseManifest parses a manifest strictly, and verifies the digest of the protocol and of every schema. The error wraps ErrManifest if
// the manifest is not strict JSON, exceeds a limit, has a wrong digest, or has a repeated element. It also wraps ErrManifest if an
// interaction names a model that is not in the manifest.
func ParseManifest(raw []byte) (Manifest, error) {
	if len(raw) > MaxManifest {
		return Manifest{}, fmt.Errorf("%w: more than %d bytes", ErrManifest, MaxManifest)
	}
	tree, err := strictjson.DecodeObjectOf(raw, maxModels*maxModels)
	if err != nil {
		return Manifest{}, fmt.Errorf("%w: %w", ErrManifest, err)
	}
	about := tree.Object("metadata")
	m := Manifest{Name: about.Text("name"), Version: about.Text("version")}
	if tree.Text("version") != manifestVersion || m.Name == "" || len(m.Name) > maxTitle || len(m.Version) > maxTitle {
		return Manifest{}, fmt.Errorf("%w: want version %s and the name of the protocol", ErrManifest, manifestVersion)
	}
	if m.Models, err = readModels(tree.List("models")); err != nil {
		return Manifest{}, err
	}
	if m.Interactions, err = m.readInteractions(tree.List("interactions")); err != nil {
		return Manifest{}, err
	}
	if m.Digest = m.digest(); about.Text("digest") != string(m.Digest) {
		return Manifest{}, fmt.Errorf("%w: the digest does not match the protocol", ErrManifest)
	}
	return m, nil
}

func readModels(list []any) ([]Model, error) {
	if len(list) == 0 || len(list) > maxModels {
		return nil, fmt.Errorf("%w: want 1 to %d models", ErrManifest, maxModels)
	}
	models := make([]Model, 0, len(list))
	for _, item := range list {
		entry, _ := strictjson.AsObject(item)
		model, err := modelOf(entry.Object("schema"))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrManifest, err)
		}
		if entry.Text("digest") != string(model.Digest) {
			return nil, fmt.Errorf("%w: a digest does not match its model", ErrManifest)
		}
		models = append(models, model)
	}
	slices.SortFunc(models, func(a, b Model) int { return strings.Compare(string(a.Digest), string(b.Digest)) })
	if repeated(models, func(a, b Model) bool { return a.Digest == b.Digest }) {
		return nil, fmt.Errorf("%w: the same model occurs twice", ErrManifest)
	}
	return models, nil
}

func (m Manifest) readInteractions(list []any) ([]Interaction, error) {
	if len(list) > maxModels {
		return nil, fmt.Errorf("%w: want at most %d interactions", ErrManifest, maxModels)
	}
	known := map[envelope.ModelDigest]bool{}
	for _, model := range m.Models {
		known[model.Digest] = true
	}
	interactions := make([]Interaction, 0, len(list))
	for _, item := range list {
		entry, _ := strictjson.AsObject(item)
		responses := entry.List("responses")
		if entry.Text("type") != typeNormal || responses == nil {
			return nil, fmt.Errorf("%w: want interactions of type %s, with their responses", ErrManifest, typeNormal)
		}
		i := Interaction{Request: envelope.ModelDigest(entry.Text("request"))}
		for _, response := range responses {
			digest, _ := response.(string)
			i.Responses = append(i.Responses, envelope.ModelDigest(digest))
		}
		slices.Sort(i.Responses)
		for _, digest := range append([]envelope.ModelDigest{i.Request}, i.Responses...) {
			if !known[digest] {
				return nil, fmt.Errorf("%w: an interaction names a model that is not in the manifest", ErrManifest)
			}
		}
		if repeated(i.Responses, func(a, b envelope.ModelDigest) bool { return a == b }) {
			return nil, fmt.Errorf("%w: the same response occurs twice", ErrManifest)
		}
		interactions = append(interactions, i)
	}
	slices.SortFunc(interactions, func(a, b Interaction) int { return strings.Compare(string(a.Request), string(b.Request)) })
	if repeated(interactions, func(a, b Interaction) bool { return a.Request == b.Request }) {
		return nil, fmt.Errorf("%w: the same request occurs twice", ErrManifest)
	}
	return interactions, nil
}

// repeated reports whether a sorted list contains an element twice.
func repeated[T any](sorted []T, same func(a, b T) bool) bool {
	for i := 1; i < len(sorted); i++ {
		if same(sorted[i-1], sorted[i]) {
			return true
		}
	}
	return false
}

// digest computes the digest of the protocol.
func (m Manifest) digest() envelope.ProtocolDigest {
	text := []byte(`{"interactions": [`)
	for n, i := range m.Interactions {
		if n > 0 {
			text = append(text, ", "...)
		}
		responses := make([]any, 0, len(i.Responses))
		for _, digest := range i.Responses {
			responses = append(responses, string(digest))
		}
		text = appendCanonical(text, map[string]any{"type": typeNormal, "request": string(i.Request), "responses": responses})
	}
	text = append(text, `], "metadata": {}, "models": [`...)
	for n, model := range m.Models {
		if n > 0 {
			text = append(text, ", "...)
		}
		text = append(text, `{"digest": "`+string(model.Digest)+`", "schema": `...)
		text = append(append(text, model.Schema...), '}')
	}
	text = append(text, `], "version": "`+manifestVersion+`"}`...)
	return envelope.ProtocolDigest("proto:" + hexSum(text))
}

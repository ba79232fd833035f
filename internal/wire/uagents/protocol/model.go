// Package protocol describes the messages that agents of the uAgents protocol exchange. A model is a type of message; a protocol is a set
// of models with the possible replies to each. Both are identified by digests of their own content, so that equal digests mean equal
// content. The usual calls:
//
//	name, ok := protocol.NameOf(e.SchemaDigest)        // "ChatMessage"
//	digest := protocol.Standard("ErrorMessage").Digest // of the model of an error
//	published, err := json.Marshal(protocol.UIM())
//
// Schemas are stored as data and not derived from Go types, because a schema, including its descriptions, must equal the output of one
// version of one library. This package does not check whether a message matches its model.
package protocol

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
)

// ErrModel means that JSON is not a model.
var ErrModel = errors.New("not a model: want a JSON schema with a title and the type object")

const (
	// MaxSchema limits the size of a schema in bytes.
	MaxSchema = 64 << 10
	// maxValues limits the number of values in a schema.
	maxValues = 4096
	maxTitle  = 200
)

// A Model is a type of message.
type Model struct {
	Name   string               // title of the schema
	Digest envelope.ModelDigest // the digest of the schema
	Schema json.RawMessage      // in the form that the digest covers; read-only
}

// NewModel returns the model of a JSON schema, with its digest. The error wraps ErrModel if the schema is longer than MaxSchema, is not a
// strict JSON object, or does not have a title and the type object.
func NewModel(schema []byte) (Model, error) {
	if len(schema) > MaxSchema {
		return Model{}, fmt.Errorf("%w: more than %d bytes", ErrModel, MaxSchema)
	}
	tree, err := strictjson.DecodeObjectOf(schema, maxValues)
	if err != nil {
		return Model{}, fmt.Errorf("%w: %w", ErrModel, err)
	}
	return modelOf(tree)
}

func modelOf(schema strictjson.Object) (Model, error) {
	name := schema.Text("title")
	if name == "" || len(name) > maxTitle || schema.Text("type") != "object" {
		return Model{}, ErrModel
	}
	text := appendCanonical(nil, map[string]any(schema))
	return Model{Name: name, Digest: envelope.ModelDigest("model:" + hexSum(text)), Schema: text}, nil
}

func hexSum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

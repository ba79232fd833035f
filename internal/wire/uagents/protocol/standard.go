package protocol

import (
	"embed"
	"fmt"
	"io/fs"
	"sync"

	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
)

// data holds the manifests as published, and the model of an error, which belongs to every protocol.
//
//go:embed data/*.json
var data embed.FS

// The protocols that all agents use, and our own. Their results are read-only.
var (
	Chat   = sync.OnceValue(func() Manifest { return manifest("chat") })   // AgentChatProtocol 0.3.0
	MCP    = sync.OnceValue(func() Manifest { return manifest("mcp") })    // MCPProtocol 0.1.0, of a server: tools for agents
	Health = sync.OnceValue(func() Manifest { return manifest("health") }) // HealthProtocol 0.1.0
	UIM    = sync.OnceValue(func() Manifest { return manifest("uim") })    // UIMProtocol 1.0.0, of a service
)

// standard returns the models of all of these, by name.
var standard = sync.OnceValue(func() map[string]Model {
	models := map[string]Model{}
	for _, m := range []Manifest{Chat(), MCP(), Health(), UIM()} {
		for _, model := range m.Models {
			models[model.Name] = model
		}
	}
	model, err := NewModel(file("error"))
	if err != nil {
		panic(fmt.Sprintf("data/error.json: %v", err))
	}
	models[model.Name] = model
	return models
})

var names = sync.OnceValue(func() map[envelope.ModelDigest]string {
	byDigest := map[envelope.ModelDigest]string{}
	for name, model := range standard() {
		byDigest[model.Digest] = name
	}
	return byDigest
})

// Standard returns the model with that name, of one of the protocols above, or ErrorMessage; the zero Model if there is none.
func Standard(name string) Model { return standard()[name] }

// NameOf returns the name of the standard model with that digest, and false if there is none.
func NameOf(digest envelope.ModelDigest) (string, bool) {
	name, ok := names()[digest]
	return name, ok
}

func manifest(name string) Manifest {
	m, err := ParseManifest(file(name))
	if err != nil {
		panic(fmt.Sprintf("data/%s.json: %v", name, err)) // a test reads each
	}
	return m
}

func file(name string) []byte {
	text, err := fs.ReadFile(data, "data/"+name+".json")
	if err != nil {
		panic(err)
	}
	return text
}

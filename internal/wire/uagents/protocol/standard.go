package protocol

import (
	"embed"
	"fmt"
	"io/fs"
	"sync"

	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
)

// data contains the manifests as published, and the model of an error message, which is part of every protocol.
//
//go:embed data/*.json
var data embed.FS

// The standard protocols of agents, and the protocol of UIM services. The results must not be modified.
var (
	Chat   = sync.OnceValue(func() Manifest { return manifest("chat") })   // AgentChatProtocol 0.3.0
	MCP    = sync.OnceValue(func() Manifest { return manifest("mcp") })    // MCPProtocol 0.1.0, for servers that offer tools
	Health = sync.OnceValue(func() Manifest { return manifest("health") }) // HealthProtocol 0.1.0
	UIM    = sync.OnceValue(func() Manifest { return manifest("uim") })    // UIMProtocol 1.0.0, for services
	// Plans is UIMPlanProtocol 1.0.0: UIMAgreeToPlan, an agreement that chooses a plan. It is a separate protocol, so that the digest of
	// UIMProtocol does not change.
	Plans = sync.OnceValue(func() Manifest { return manifest("plans") })
)

// standard returns the models of the protocols above, and ErrorMessage, by name.
var standard = sync.OnceValue(func() map[string]Model {
	models := map[string]Model{}
	for _, m := range []Manifest{Chat(), MCP(), Health(), UIM(), Plans()} {
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

// Standard returns the model with the given name, which is ErrorMessage or a model of one of the protocols above. If there is none, it
// returns the zero Model.
func Standard(name string) Model { return standard()[name] }

// NameOf returns the name of the standard model with the given digest. ok is false if there is none.
func NameOf(digest envelope.ModelDigest) (string, bool) {
	name, ok := names()[digest]
	return name, ok
}

func manifest(name string) Manifest {
	m, err := ParseManifest(file(name))
	if err != nil {
		panic(fmt.Sprintf("data/%s.json: %v", name, err)) // a test parses each file
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

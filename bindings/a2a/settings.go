package a2a

import (
	"html/template"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/intents"
)

// Settings is the configuration block doors.a2a of a service.
type Settings struct {
	Enabled bool   `yaml:"enabled" default:"true" doc:"Whether the door is open."`
	Path    string `yaml:"path" default:"/a2a" doc:"The path below public_url that serves JSON-RPC. HTTP+JSON is served at /v1 below it."`
}

// SettingsOf returns the settings of a service, or nil if the door is closed.
func SettingsOf(s *service.Definition) *Settings {
	settings, _ := s.Doors[Name].(*Settings)
	return settings
}

// Open implements config.Settings.
func (s *Settings) Open() bool { return s.Enabled }

// Check implements config.Settings.
func (s *Settings) Check(b *config.BlockCheck) {
	b.Path("path", s.Path)
	if s.Enabled {
		b.Claim("path", s.Path)
	}
}

// CardPath is the path of the agent card. A2A 1.0, 8.2.
const CardPath = "/.well-known/agent-card.json"

var note = template.Must(template.New("").Parse(
	`<p>An agent that supports Agent2Agent (A2A) starts at the <a href="{{.}}">agent card</a>, where each intent is a skill. The agent agrees to the policy in the same way.</p>`,
))

// Announce implements service.Announcer.
func (s *Settings) Announce(d *service.Definition) service.Announcement {
	url, card := d.At(s.Path), d.At(CardPath)
	return service.Announcement{
		Members:     []intents.Extra{{Name: "uim-a2a", Value: url}},
		EntryPoints: []service.EntryPoint{{Name: Name, URL: url}, {Name: "agent_card", URL: card}},
		Note:        service.NoteOf(note, card),
	}
}

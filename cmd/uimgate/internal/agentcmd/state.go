package agentcmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/suggest"
)

const maxSessions = 1000

// sessions returns the agreements of this agent. It skips files of other agents in the directory, and reports unreadable ones: one broken
// file must not stop work with other services.
func (s *agentSettings) sessions(c *cobra.Command, client *agent.Client) ([]agent.Session, error) {
	dir, err := s.stateDir()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("looking for agreements: %w", err)
	}
	var out []agent.Session
	for _, entry := range entries[:min(len(entries), maxSessions)] {
		if filepath.Ext(entry.Name()) != ".json" {
			continue
		}
		session, err := agent.LoadSession(filepath.Join(dir, entry.Name()))
		if err != nil {
			fmt.Fprintf(c.ErrOrStderr(), "warning: %v\n", err)
			continue
		}
		if session.AgentID == client.AgentID() && session.KeyID == client.KeyID() {
			out = append(out, session)
		}
	}
	return out, nil
}

// resume finds the one agreement with a service, or that permits an intent; empty arguments match all.
func (s *agentSettings) resume(c *cobra.Command, client *agent.Client, target, uid string) (*agent.Service, error) {
	sessions, err := s.sessions(c, client)
	if err != nil {
		return nil, err
	}
	var fits []agent.Session
	for _, session := range sessions {
		if session.Agreed() && (target == "" || session.Matches(target)) && (uid == "" || target != "" || session.Permits(uid)) {
			fits = append(fits, session)
		}
	}
	switch {
	case len(fits) == 1:
		return client.Resume(fits[0])
	case len(fits) == 0 && target != "":
		return nil, fmt.Errorf("there is no agreement with %s: make one with uimgate agent agree %s", target, target)
	case len(fits) == 0 && uid != "":
		if err := unoffered(c, client, sessions, uid); err != nil {
			return nil, err
		}
		return nil, unpermitted(sessions, uid)
	case len(fits) == 0:
		return nil, errors.New("there is no agreement: make one with uimgate agent agree SERVICE")
	}
	names := make([]string, 0, len(fits))
	for _, session := range fits {
		names = append(names, printable(session.Endpoints.Agents))
	}
	return nil, cli.Usage(fmt.Errorf("several agreements fit; name the service: %s", strings.Join(names, ", ")))
}

// unoffered returns the refusal of an intent that none of its namespace's services with an agreement offers any longer: a new agreement
// would not permit it. It skips unreachable services.
func unoffered(c *cobra.Command, client *agent.Client, sessions []agent.Session, uid string) error {
	const most = 8 // services to query
	var refusal error
	requests := 0
	for _, session := range sessions {
		if !session.Agreed() || !session.Covers(uid) {
			continue
		}
		if requests++; requests > most {
			break
		}
		service, err := client.Resume(session)
		if err != nil {
			continue
		}
		in, err := service.Intent(c.Context(), uid)
		switch {
		case err == nil && !in.Retired:
			return nil
		case err == nil:
			refusal = refusalOf(in)
		case refusal == nil && (errors.Is(err, agent.ErrIntentNotFound) || errors.Is(err, agent.ErrVersionConflict)):
			refusal = err
		}
	}
	return refusal
}

// unpermitted returns the error for an intent that no agreement permits, and that its service offers as far as is known.
func unpermitted(sessions []agent.Session, uid string) error {
	var known, names []string
	for _, session := range sessions {
		if !session.Agreed() {
			continue
		}
		at := printable(session.Endpoints.Agents)
		if session.Covers(uid) {
			return fmt.Errorf("no agreement permits %s: that with %s leaves it out; uimgate agent agree %s --scope %s:execute asks for it",
				uid, at, at, uid)
		}
		names = append(names, at)
		for _, entry := range session.Scope {
			if permitted, ok := strings.CutSuffix(entry, ":execute"); ok {
				known = append(known, permitted)
			}
		}
	}
	if len(names) == 0 {
		return fmt.Errorf("no agreement permits %s: make one with uimgate agent agree SERVICE", uid)
	}
	if near := suggest.Name(uid, known); near != "" {
		return fmt.Errorf("no agreement permits %s; perhaps %s is meant", uid, printable(near))
	}
	return fmt.Errorf("no agreement permits %s: it is an intent of another service; there are agreements with %s", uid, strings.Join(names, ", "))
}

// refusalOf returns the refusal that executing a retired intent would get.
func refusalOf(in *intents.Intent) *agent.Error {
	refusal := &agent.Error{
		Status: http.StatusGone, Reason: string(agent.ErrIntentDeprecated), Message: "the service has retired this intent",
	}
	if in.ReplacedBy != (intents.UID{}) {
		refusal.Suggestion = "Use the intent that takes its place."
		refusal.Details = map[string]any{"replaced_by": in.ReplacedBy.String()}
	}
	return refusal
}

func (s *agentSettings) path(service *agent.Service) (string, error) {
	dir, err := s.stateDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, service.Session().FileName()), nil
}

func (s *agentSettings) save(service *agent.Service) error {
	path, err := s.path(service)
	if err != nil {
		return err
	}
	return agent.SaveSession(path, service.Session())
}

func (s *agentSettings) forget(service *agent.Service) error {
	path, err := s.path(service)
	if err != nil {
		return err
	}
	return agent.RemoveSession(path)
}

func rawJSON(b []byte) json.RawMessage { return b }

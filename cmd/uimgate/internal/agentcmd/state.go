package agentcmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/suggest"
	"github.com/uimgate/uimgate/pat"
)

const maxSessions = 1000

// sessions returns the stored agreements of this agent, and skips those of other agents. It reads at most maxSessions files. It prints a
// warning for a file that it cannot read, so that one broken file does not prevent calls to other services.
func (s *agentSettings) sessions(c *cobra.Command, client *agent.Client) ([]agent.Session, error) {
	dir, err := s.stateDir()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("reading the agreements: %w", err)
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
		if session.AgentID != client.AgentID() || session.KeyID != client.KeyID() {
			continue
		}
		service, err := client.Resume(session)
		if err != nil {
			return nil, err
		}
		out = append(out, service.Session()) // on its date, an agreement that was made in advance replaces this one
	}
	return out, nil
}

// resume resumes the only agreement with the service target or, if target is empty, the only agreement that permits the intent uid. If both
// are empty, it resumes the only agreement. It returns an error unless exactly one agreement matches.
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
		return nil, fmt.Errorf("the agent has no agreement with %s: run uimgate agent agree %s", target, target)
	case len(fits) == 0 && uid != "":
		if err := unoffered(c, client, sessions, uid); err != nil {
			return nil, err
		}
		return nil, unpermitted(sessions, uid)
	case len(fits) == 0:
		return nil, errors.New("the agent has no agreement: run uimgate agent agree SERVICE")
	}
	names := make([]string, 0, len(fits))
	for _, session := range fits {
		names = append(names, printable(session.Endpoints.Agents))
	}
	return nil, cli.Usage(fmt.Errorf("several agreements match; name the service: %s", strings.Join(names, ", ")))
}

// unoffered returns a refusal if none of the services of the intent's namespace offers the intent any longer, so that a new agreement would
// not permit it. It queries up to eight services with which there is an agreement, and skips those that it cannot reach. It returns nil if
// one of them offers the intent, or if the answer is unknown.
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

// unpermitted returns the error for an intent that no agreement permits, although its service may offer it.
func unpermitted(sessions []agent.Session, uid string) error {
	var known, names []string
	for _, session := range sessions {
		if !session.Agreed() {
			continue
		}
		at := printable(session.Endpoints.Agents)
		if slices.Contains(session.ScopeOmitted, pat.OmittedEntry{Entry: uid + ":execute", Reason: reason.PolicyRequiresAgreement}) {
			return fmt.Errorf("no agreement permits %s: its terms have changed since the agreement with %s; "+
				"to see the changes and agree again, run uimgate agent agree %s", uid, at, at)
		}
		if session.Covers(uid) {
			return fmt.Errorf("no agreement permits %s: the one with %s does not include it; "+
				"run uimgate agent agree %s to agree to all that the policy permits now, or add --scope %s:execute to agree to this intent alone", uid, at, at, uid)
		}
		names = append(names, at)
		for _, entry := range session.Scope {
			if permitted, ok := strings.CutSuffix(entry, ":execute"); ok {
				known = append(known, permitted)
			}
		}
	}
	if len(names) == 0 {
		return fmt.Errorf("no agreement permits %s: run uimgate agent agree SERVICE", uid)
	}
	near := suggest.Name(uid, known)
	if _, err := intents.ParseUID(uid); err != nil {
		near = fullUID(uid, known, near)
		if near == "" {
			return fmt.Errorf("%s is not the UID of an intent, such as example.com:search-products:v1: "+
				"uimgate agent discover SERVICE lists the UIDs", printable(uid))
		}
	}
	if near != "" {
		return fmt.Errorf("no agreement permits %s: did you mean %s?", printable(uid), printable(near))
	}
	return fmt.Errorf("no agreement permits %s: the intent belongs to another service; there are agreements only with %s", uid, strings.Join(names, ", "))
}

// fullUID returns the UID among known whose middle part is name. If there is none, or several, fullUID returns the value of otherwise.
func fullUID(name string, known []string, otherwise string) string {
	found := ""
	for _, uid := range known {
		parsed, err := intents.ParseUID(uid)
		if err != nil || parsed.Name != name {
			continue
		}
		if found != "" {
			return otherwise
		}
		found = uid
	}
	if found == "" {
		return otherwise
	}
	return found
}

// refusalOf returns the refusal with which the service would respond to a call to a retired intent.
func refusalOf(in *intents.Intent) *agent.Error {
	refusal := &agent.Error{
		Status: http.StatusGone, Reason: string(agent.ErrIntentDeprecated), Message: "the service has retired this intent",
	}
	if in.ReplacedBy != (intents.UID{}) {
		refusal.Suggestion = "Use the intent that replaces it."
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

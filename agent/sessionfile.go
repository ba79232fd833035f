package agent

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/uimgate/uimgate/evidence"
)

// A sessionFile is the JSON form of a Session in a file.
type sessionFile struct {
	Version int `json:"version"`
	Session
	kept
	Keys json.RawMessage `json:"jwks,omitempty"`
	Next *sessionFile    `json:"next,omitempty"`
}

// fileOf returns a session in the form of a file.
func fileOf(s Session) *sessionFile {
	f := &sessionFile{Version: sessionVersion, Session: s, kept: s.kept}
	if s.Keys.Len() > 0 {
		f.Keys = s.Keys.JWKS()
	}
	if next, ok := s.Next(); ok {
		f.Next = fileOf(next)
	}
	return f
}

// session returns the session in a file. It ignores the successor of a successor.
func (f *sessionFile) session() Session {
	s := f.Session
	s.kept = f.kept
	s.Keys, _ = evidence.ParseKeySet(f.Keys) // a session without keys pins them again
	return s
}

const (
	sessionVersion = 1
	maxSession     = 8 << 20 // for up to four policies of pat.MaxPolicy, and two PATs
)

// SaveSession writes a session, including the PAT, to a file that only its owner can read (0600). It atomically replaces an
// existing file, and creates directories with mode 0700. The error wraps ErrFile.
func SaveSession(path string, s Session) error {
	data, err := json.MarshalIndent(fileOf(s), "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the session: %w", err)
	}
	return writePrivate(path, append(data, '\n'))
}

// LoadSession reads a file written by SaveSession. The error wraps ErrFile, and os.ErrNotExist if the file does not exist; it never
// quotes the contents of the file.
func LoadSession(path string) (Session, error) {
	data, err := readPrivate(path, maxSession)
	if err != nil {
		return Session{}, err
	}
	var f sessionFile
	if err := json.Unmarshal(data, &f); err != nil || f.Version != sessionVersion || f.Endpoints.Agents == "" {
		return Session{}, fmt.Errorf("%s: %w: it does not contain a session of this program; remove it and agree again", path, ErrFile)
	}
	session := f.session()
	if f.Next != nil {
		next := f.Next.session()
		session.next = &next
	}
	return session, nil
}

// RemoveSession removes the file of a session. A missing file is not an error.
func RemoveSession(path string) error {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("%w: %w", ErrFile, err)
	}
	return nil
}

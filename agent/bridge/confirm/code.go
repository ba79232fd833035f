package confirm

import (
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/uimgate/uimgate/internal/privatefile"
)

const (
	// MinCode is the minimum length of a code, in characters.
	MinCode = 6
	// MaxCode is the maximum length of a code, in characters.
	MaxCode = 128

	codeVersion = 1
	codeRounds  = 600_000
	maxRounds   = 10_000_000
	maxCodeFile = 4 << 10
)

// ErrCode means that the input is too short or too long for a code.
var ErrCode = fmt.Errorf("want a code of %d to %d characters", MinCode, MaxCode)

// codeFile is the content of the file of a code: PBKDF2 with SHA-256 (RFC 8018).
type codeFile struct {
	Version int    `json:"version"`
	Rounds  int    `json:"rounds"`
	Salt    []byte `json:"salt"`
	Sum     []byte `json:"sum"`
}

// SaveCode stores the digest of the owner's code in the file at path, which only its owner can read. The error is ErrCode, or an error of
// writing the file.
func SaveCode(path, code string) error {
	if n := utf8.RuneCountInString(code); n < MinCode || n > MaxCode || !utf8.ValidString(code) {
		return ErrCode
	}
	f := codeFile{Version: codeVersion, Rounds: codeRounds, Salt: make([]byte, sha256.Size)}
	_, _ = rand.Read(f.Salt) // it never fails
	var err error
	if f.Sum, err = f.sum(code); err != nil {
		return err
	}
	data, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("encoding the code: %w", err)
	}
	return privatefile.Write(path, append(data, '\n'))
}

// CheckCode reads the file of a code. The error wraps os.ErrNotExist if the owner has not set a code.
func CheckCode(path string) error {
	_, err := readCode(path)
	return err
}

func readCode(path string) (codeFile, error) {
	data, err := privatefile.Read(path, maxCodeFile)
	if err != nil {
		return codeFile{}, fmt.Errorf("reading the code: %w", err)
	}
	var f codeFile
	if json.Unmarshal(data, &f) != nil || f.Version != codeVersion || f.Rounds < 1 || f.Rounds > maxRounds || len(f.Salt) == 0 ||
		len(f.Sum) != sha256.Size {
		return codeFile{}, errors.New("the file of the code is damaged: set the code again")
	}
	return f, nil
}

func (f codeFile) sum(code string) ([]byte, error) {
	return pbkdf2.Key(sha256.New, code, f.Salt, f.Rounds, sha256.Size)
}

// matches reports whether a string is the code in the file at path.
func matches(path, text string) (bool, error) {
	if len(text) > MaxCode*utf8.UTFMax {
		return false, nil
	}
	f, err := readCode(path)
	if err != nil {
		return false, err
	}
	sum, err := f.sum(text)
	return err == nil && subtle.ConstantTimeCompare(sum, f.Sum) == 1, err
}

package ledger

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"

	"github.com/uimgate/uimgate/store"
)

// The questions and proofs of charges are stored packed: words that their record has in other columns, and fixed words, are replaced by
// codes. The codes are control characters, which JSON texts do not contain. A text that contains one is stored as it is.

// The first byte of a packed text is its form. Texts of earlier releases have no form; they begin with another byte.
const (
	formPlain byte = 0 // followed by the text
	formWords byte = 1 // followed by the text with codes
	formJWS   byte = 2 // followed by the parts of a compact JWS: see PackProof
)

// mostUnpacked is the maximum length of an unpacked text, in bytes.
const mostUnpacked = 16 << 20

// Words are the words of one execution that its texts often contain. Their order is part of the stored form. The id of the service is not
// one of them, because it can change.
type Words [dynamicWords]string

const dynamicWords = 8 // the last one is not used yet

// WordsOf returns the words of an execution.
func WordsOf(e *store.Execution) Words {
	var key string
	if e.Evidence != nil {
		key = e.Evidence.KeyID
	}
	return NewWords(string(e.AgentID), e.Intent, e.Fingerprint, string(e.AgreementID), string(e.TokenID), key)
}

// NewWords returns the words of an execution with the given columns.
func NewWords(agent, intent, request, agreement, token, key string) Words {
	namespace, _, _ := strings.Cut(intent, ":")
	return Words{request, key, agreement, token, intent, namespace, agent}
}

// fixedWords are parts of most questions and proofs. Their order is part of the stored form, so words can be appended but not changed.
var fixedWords = [...]string{
	`{"request":{"party":"`,
	`","action":"execute","target":"`,
	`","context":{`,
	`}},"world":{"currentTime":"`,
	`","partOf":[{"member":"`,
	`"},{"member":"`,
	`","collection":"`,
	`"}]},"dutyMode":"notViolated"}`,
	`"},"dutyMode":"notViolated"}`,
	`"publicKey":"MCowBQYDK2VwAyEA`,
	`{"alg":"EdDSA",`,
	`"kid":"`,
	`"typ":"uim-proof+jwt"`,
	`"aud":"`,
	`"digest":"`,
	`"iat":`,
	`"jti":"`,
	`"pat":"`,
	`https://`,
	`/api/intents`,
}

// codes are the control characters that represent words, without those that JSON permits between values.
var codes = func() (out []byte) {
	for c := range byte(' ') {
		if c != '\t' && c != '\n' && c != '\r' {
			out = append(out, c)
		}
	}
	return out
}()

// wordOf returns the word of a code, and false if the code has none.
func (w *Words) wordOf(code byte) (string, bool) {
	i := bytes.IndexByte(codes, code)
	switch {
	case i < 0 || i >= dynamicWords+len(fixedWords):
		return "", false
	case i < dynamicWords:
		return w[i], w[i] != ""
	default:
		return fixedWords[i-dynamicWords], true
	}
}

// shortestWord is the length below which a word of an execution is not replaced.
const shortestWord = 3

// startsOfFixed has the places of fixedWords by their first byte.
var startsOfFixed = func() (out [256][]int) {
	for i, word := range fixedWords {
		out[word[0]] = append(out[word[0]], i)
	}
	return out
}()

// replace appends text to out, with codes for its words. It returns false if the text contains control characters.
func (w *Words) replace(out, text []byte) ([]byte, bool) {
	var starts [256]bool
	for _, word := range w {
		if len(word) >= shortestWord {
			starts[word[0]] = true
		}
	}
	for i := 0; i < len(text); {
		c := text[i]
		if c < ' ' && bytes.IndexByte(codes, c) >= 0 {
			return out, false
		}
		best, code := 0, byte(0)
		if starts[c] {
			for n, word := range w {
				if len(word) >= shortestWord && len(word) > best && bytes.HasPrefix(text[i:], []byte(word)) {
					best, code = len(word), codes[n]
				}
			}
		}
		for _, n := range startsOfFixed[c] {
			if word := fixedWords[n]; len(word) > best && bytes.HasPrefix(text[i:], []byte(word)) {
				best, code = len(word), codes[dynamicWords+n]
			}
		}
		if best == 0 {
			best, code = 1, c
		}
		out, i = append(out, code), i+best
	}
	return out, true
}

// restore is the inverse of replace. It returns false if the bytes are not a result of replace, or if the text would be too long.
func (w *Words) restore(out, packed []byte) ([]byte, bool) {
	for _, c := range packed {
		switch {
		case c >= ' ' || c == '\t' || c == '\n' || c == '\r':
			out = append(out, c)
		default:
			word, known := w.wordOf(c)
			if !known {
				return nil, false
			}
			out = append(out, word...)
		}
		if len(out) > mostUnpacked {
			return nil, false
		}
	}
	return out, true
}

// PackQuestion returns the stored form of the question that the policy decided.
func (w *Words) PackQuestion(text []byte) []byte {
	out, ok := w.replace(append(make([]byte, 0, 1+len(text)), formWords), text)
	if !ok {
		return plain(text)
	}
	return out
}

// PackProof returns the stored form of a proof of key. For a compact JWS, the form is the packed header and the packed payload, each
// after its length, and then the signature. For an empty proof, the form is empty.
func (w *Words) PackProof(text string) []byte {
	if text == "" {
		return []byte{}
	}
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return plain([]byte(text))
	}
	out := append(make([]byte, 0, len(text)), formJWS)
	for i, part := range parts {
		raw, err := base64.RawURLEncoding.Strict().DecodeString(part)
		if err != nil || strings.ContainsAny(part, "\r\n") { // the decoder ignores line ends
			return plain([]byte(text))
		}
		if i == 2 {
			return append(out, raw...)
		}
		packed, ok := w.replace(nil, raw)
		if !ok {
			return plain([]byte(text))
		}
		out = append(binary.AppendUvarint(out, uint64(len(packed))), packed...)
	}
	return out
}

func plain(text []byte) []byte { return append([]byte{formPlain}, text...) }

// Unpack returns the text of a stored question or proof. It returns false if the bytes are not a stored form.
func (w *Words) Unpack(stored []byte) ([]byte, bool) {
	if len(stored) == 0 {
		return stored, true
	}
	switch rest := stored[1:]; stored[0] {
	case formPlain:
		return rest, true
	case formWords:
		return w.restore(make([]byte, 0, 4*len(rest)), rest)
	case formJWS:
		return w.unpackJWS(rest)
	default: // of an earlier release
		return stored, true
	}
}

func (w *Words) unpackJWS(stored []byte) ([]byte, bool) {
	var out []byte
	for range 2 {
		n, size := binary.Uvarint(stored)
		if size <= 0 || n > uint64(len(stored)-size) {
			return nil, false
		}
		raw, ok := w.restore(nil, stored[size:size+int(n)])
		if !ok {
			return nil, false
		}
		out = append(base64.RawURLEncoding.AppendEncode(out, raw), '.')
		stored = stored[size+int(n):]
	}
	return base64.RawURLEncoding.AppendEncode(out, stored), true
}

// ErrPacked means that a stored text of a charge has no valid form.
var ErrPacked = errors.New("a packed text has no valid form")

// Texts returns the texts that were stored for a charge. proof is the proof of key that an earlier release stored, and otherwise empty. The
// error is ErrPacked.
func (w *Words) Texts(proof string, asked, signed []byte) (store.EvidenceText, error) {
	question, ok := w.Unpack(asked)
	if !ok {
		return store.EvidenceText{}, ErrPacked
	}
	if proof == "" && len(signed) > 0 {
		text, ok := w.Unpack(signed)
		if !ok {
			return store.EvidenceText{}, ErrPacked
		}
		proof = string(text)
	}
	return store.EvidenceText{Proof: proof, Asked: question}, nil
}

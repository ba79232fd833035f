package triples

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A turtle reads one Turtle document from left to right.
type turtle struct {
	text     string
	at       int
	prefixes map[string]string
	base     *url.URL
	blanks   int
	depth    int
	out      []Triple
}

func readTurtle(doc []byte) ([]Triple, error) {
	if !utf8.Valid(doc) {
		return nil, errors.New("it is not UTF-8")
	}
	t := &turtle{text: string(doc), prefixes: map[string]string{}}
	for t.space(); t.at < len(t.text); t.space() {
		if err := t.statement(); err != nil {
			return nil, fmt.Errorf("line %d: %w", 1+strings.Count(t.text[:min(t.at, len(t.text))], "\n"), err)
		}
	}
	return t.out, nil
}

// space skips white space and comments.
func (t *turtle) space() {
	for t.at < len(t.text) {
		switch c := t.text[t.at]; c {
		case ' ', '\t', '\r', '\n':
			t.at++
		case '#':
			end := strings.IndexByte(t.text[t.at:], '\n')
			if end < 0 {
				end = len(t.text) - t.at
			}
			t.at += end
		default:
			return
		}
	}
}

// take skips white space and, if it comes next, the mark. It reports whether the mark came next.
func (t *turtle) take(mark string) bool {
	t.space()
	if !strings.HasPrefix(t.text[t.at:], mark) {
		return false
	}
	t.at += len(mark)
	return true
}

func (t *turtle) need(mark string) error {
	if t.take(mark) {
		return nil
	}
	return fmt.Errorf("want %q", mark)
}

func (t *turtle) statement() error {
	for _, d := range []struct {
		word string
		dot  bool
		read func() error
	}{{"@prefix", true, t.prefix}, {"@base", true, t.setBase}, {"prefix", false, t.prefix}, {"base", false, t.setBase}} {
		n := len(d.word)
		if len(t.text) <= t.at+n || !strings.EqualFold(t.text[t.at:t.at+n], d.word) || !strings.ContainsAny(t.text[t.at+n:t.at+n+1], " \t\r\n<") {
			continue
		}
		t.at += n
		if err := d.read(); err != nil || !d.dot {
			return err
		}
		return t.need(".")
	}
	subject, bracket, err := t.subject()
	if err != nil {
		return err
	}
	if t.space(); !bracket || !strings.HasPrefix(t.text[t.at:], ".") {
		if err := t.predicates(subject); err != nil {
			return err
		}
	}
	return t.need(".")
}

func (t *turtle) prefix() error {
	t.space()
	end := strings.IndexByte(t.text[t.at:], ':')
	if end < 0 || strings.ContainsAny(t.text[t.at:t.at+end], " <>\n\t\"") {
		return errors.New("a prefix must end in a colon")
	}
	name := t.text[t.at : t.at+end]
	t.at += end + 1
	iri, err := t.iriRef()
	t.prefixes[name] = iri
	return err
}

func (t *turtle) setBase() error {
	iri, err := t.iriRef()
	if err == nil {
		t.base, err = url.Parse(iri)
	}
	return err
}

// subject reads the subject of a statement. bracket is set for a blank node that was written with its properties.
func (t *turtle) subject() (name string, bracket bool, err error) {
	term, bracket, err := t.term()
	if err == nil && term.Literal {
		err = errors.New("a literal cannot be a subject")
	}
	return term.Value, bracket, err
}

// predicates reads the statements about a subject, up to the end of the list of predicates.
func (t *turtle) predicates(subject string) error {
	for {
		var predicate string
		t.space()
		if rest := t.text[t.at:]; len(rest) > 1 && rest[0] == 'a' && strings.ContainsAny(rest[1:2], " \t\r\n<[\"") {
			t.at++
			predicate = rdf + "type"
		} else {
			term, _, err := t.term()
			if err != nil {
				return err
			}
			if term.Literal || strings.HasPrefix(term.Value, blank) {
				return errors.New("a predicate must be an IRI")
			}
			predicate = term.Value
		}
		for {
			object, _, err := t.term()
			if err != nil {
				return err
			}
			if err := t.add(subject, predicate, object); err != nil {
				return err
			}
			if !t.take(",") {
				break
			}
		}
		again := false
		for t.take(";") {
			again = true
		}
		t.space()
		if !again || t.at >= len(t.text) || t.text[t.at] == '.' || t.text[t.at] == ']' {
			return nil
		}
	}
}

func (t *turtle) add(subject, predicate string, object Term) error {
	if len(t.out) == MaxTriples {
		return errTooMany
	}
	t.out = append(t.out, Triple{subject, predicate, object})
	return nil
}

func (t *turtle) newBlank() string {
	t.blanks++
	return blank + "." + strconv.Itoa(t.blanks) // no label in a document begins with a dot
}

// term reads an IRI, a blank node, a list or a literal. bracket is set for a blank node that was written with its properties.
func (t *turtle) term() (term Term, bracket bool, err error) {
	t.space()
	rest := t.text[t.at:]
	switch {
	case rest == "":
		return Term{}, false, errors.New("it ends within a statement")
	case rest[0] == '<':
		iri, err := t.iriRef()
		return Term{Value: iri}, false, err
	case rest[0] == '[':
		term, err := t.nested(t.properties)
		return term, true, err
	case rest[0] == '(':
		term, err := t.nested(t.list)
		return term, false, err
	case rest[0] == '"' || rest[0] == '\'':
		term, err := t.literal()
		return term, false, err
	case rest[0] >= '0' && rest[0] <= '9' || rest[0] == '+' || rest[0] == '-':
		n := 1 + span(rest[1:], func(r rune) bool { return strings.ContainsRune("0123456789.eE+-", r) })
		number := strings.TrimSuffix(rest[:n], ".")
		t.at += len(number)
		if _, err := strconv.ParseFloat(number, 64); err != nil && !errors.Is(err, strconv.ErrRange) {
			return Term{}, false, errors.New("this is not a number")
		}
		return Term{Value: number, Literal: true}, false, nil
	default:
		term, err := t.name()
		return term, false, err
	}
}

func (t *turtle) nested(read func() (Term, error)) (Term, error) {
	if t.depth++; t.depth > maxNesting {
		return Term{}, fmt.Errorf("it is nested more than %d levels deep", maxNesting)
	}
	defer func() { t.depth-- }()
	t.at++
	return read()
}

func (t *turtle) properties() (Term, error) {
	node := Term{Value: t.newBlank()}
	if t.take("]") {
		return node, nil
	}
	if err := t.predicates(node.Value); err != nil {
		return node, err
	}
	return node, t.need("]")
}

func (t *turtle) list() (Term, error) {
	var members []Term
	for !t.take(")") {
		member, _, err := t.term()
		if err != nil {
			return Term{}, err
		}
		members = append(members, member)
	}
	next := Term{Value: rdf + "nil"}
	for _, member := range slices.Backward(members) {
		node := Term{Value: t.newBlank()}
		if err := t.add(node.Value, rdf+"first", member); err != nil {
			return Term{}, err
		}
		if err := t.add(node.Value, rdf+"rest", next); err != nil {
			return Term{}, err
		}
		next = node
	}
	return next, nil
}

// name reads a prefixed name, the label of a blank node, true or false.
func (t *turtle) name() (Term, error) {
	rest := t.text[t.at:]
	var b strings.Builder
	i := 0
	for i < len(rest) {
		r, size := utf8.DecodeRuneInString(rest[i:])
		if r == '\\' && i+1 < len(rest) && strings.IndexByte("_~.-!$&'()*+,;=/?#@%", rest[i+1]) >= 0 {
			b.WriteByte(rest[i+1])
			i += 2
			continue
		}
		if r == '.' { // a dot is part of a name only if the name continues after it
			next, _ := utf8.DecodeRuneInString(rest[i+1:])
			if !nameRune(next) {
				break
			}
		} else if !nameRune(r) {
			break
		}
		b.WriteRune(r)
		i += size
	}
	s := b.String()
	if s == "true" || s == "false" {
		t.at += i
		return Term{Value: s, Literal: true}, nil
	}
	prefix, local, ok := strings.Cut(s, ":")
	switch {
	case !ok:
		return Term{}, errors.New("want an IRI in <>, a name with a prefix, or a literal")
	case prefix == "_":
		t.at += i
		if local == "" || local[0] == '.' {
			return Term{}, errors.New("a blank node must have a label")
		}
		return Term{Value: s}, nil
	}
	ns, ok := t.prefixes[prefix]
	if !ok {
		return Term{}, fmt.Errorf("the prefix %q is not declared", prefix)
	}
	t.at += i
	return t.checked(ns + local)
}

// span returns the length in bytes of the longest prefix of s whose characters all satisfy is.
func span(s string, is func(rune) bool) int {
	if n := strings.IndexFunc(s, func(r rune) bool { return !is(r) }); n >= 0 {
		return n
	}
	return len(s)
}

func nameRune(r rune) bool {
	return r == ':' || r == '_' || r == '-' || r == '%' || r == '·' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r)
}

func (t *turtle) checked(iri string) (Term, error) {
	if !absolute(iri) {
		return Term{}, errors.New("this is not an absolute IRI, and the document has no base")
	}
	return Term{Value: iri}, nil
}

// iriRef reads an IRI in <> and resolves it against the base.
func (t *turtle) iriRef() (string, error) {
	if err := t.need("<"); err != nil {
		return "", err
	}
	end := strings.IndexByte(t.text[t.at:], '>')
	if end < 0 {
		return "", errors.New("the IRI has no closing >")
	}
	iri, err := unescape(t.text[t.at:t.at+end], false)
	if err != nil {
		return "", err
	}
	if t.base != nil && !absolute(iri) {
		u, err := t.base.Parse(iri)
		if err != nil {
			return "", errors.New("this is not an IRI")
		}
		iri = u.String()
	}
	term, err := t.checked(iri)
	if err == nil {
		t.at += end + 1
	}
	return term.Value, err
}

// literal reads a string, with its language or datatype.
func (t *turtle) literal() (Term, error) {
	rest := t.text[t.at:]
	mark := rest[:1]
	if long := strings.Repeat(mark, 3); strings.HasPrefix(rest, long) {
		mark = long
	}
	end := len(mark)
	for !strings.HasPrefix(rest[end:], mark) {
		switch {
		case end+1 >= len(rest), len(mark) == 1 && rest[end] == '\n':
			return Term{}, errors.New("the text has no closing quotation mark")
		case rest[end] == '\\':
			end++
		}
		end++
		if end > len(rest) {
			return Term{}, errors.New("the text has no closing quotation mark")
		}
	}
	for len(mark) == 3 && strings.HasPrefix(rest[end+1:], mark) { // """a""""
		end++
	}
	s, err := unescape(rest[len(mark):end], true)
	if err != nil {
		return Term{}, err
	}
	t.at += end + len(mark)
	term := Term{Value: s, Literal: true}
	switch rest := t.text[t.at:]; {
	case strings.HasPrefix(rest, "@"):
		n := 1 + span(rest[1:], func(r rune) bool { return r == '-' || unicode.IsLetter(r) || unicode.IsDigit(r) })
		term.Language = strings.ToLower(rest[1:n])
		t.at += n
	case strings.HasPrefix(rest, "^^"):
		t.at += 2
		if _, _, err := t.subject(); err != nil {
			return Term{}, err
		}
	}
	return term, nil
}

var escapes = map[byte]string{'t': "\t", 'b': "\b", 'n': "\n", 'r': "\r", 'f': "\f", '"': `"`, '\'': "'", '\\': `\`}

// unescape expands \uXXXX, \UXXXXXXXX and, if text is set, the escapes of one letter. It returns an error for any other escape.
func unescape(s string, text bool) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		if i == len(s) {
			return "", errors.New("an escape is incomplete")
		}
		digits := map[byte]int{'u': 4, 'U': 8}[s[i]]
		if one, ok := escapes[s[i]]; ok && text {
			b.WriteString(one)
			continue
		}
		if digits == 0 || i+digits >= len(s) {
			return "", errors.New("this escape is not supported")
		}
		n, err := strconv.ParseUint(s[i+1:i+1+digits], 16, 32)
		if err != nil || n > unicode.MaxRune || !utf8.ValidRune(rune(n)) {
			return "", errors.New("this escape is not a character")
		}
		b.WriteRune(rune(n))
		i += digits
	}
	return b.String(), nil
}

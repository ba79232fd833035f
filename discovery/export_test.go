package discovery

import (
	"errors"
	"strings"

	"github.com/miekg/dns"
)

// Exported for the fuzz targets.
var (
	Escape   = escape
	Unescape = unescape
)

// ReadZoneLine returns the TXT record of a zone-file line, as package dns parses it.
func ReadZoneLine(line string) (string, error) {
	rr, err := dns.NewRR(line)
	if err != nil {
		return "", err
	}
	txt, ok := rr.(*dns.TXT)
	if !ok {
		return "", errors.New("this is not a TXT record")
	}
	var b strings.Builder
	for _, s := range txt.Txt {
		b.WriteString(unescape(s))
	}
	return b.String(), nil
}

// ReadAnswer parses a message as the response for name.
func ReadAnswer(wire []byte, name string) ([]Record, error) {
	m := new(dns.Msg)
	if err := m.Unpack(wire); err != nil {
		return nil, err
	}
	a, err := readAnswer(m, newChain(name))
	if err != nil {
		return nil, err
	}
	a.name = name
	return a.consistentRecords()
}

// MaxValue is maxValue.
const MaxValue = maxValue

// ParseRecord is parseRecord.
func ParseRecord(name, text string) (Record, bool, error) { return parseRecord(name, text) }

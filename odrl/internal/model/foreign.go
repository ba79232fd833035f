package model

import (
	"bytes"
	"slices"
	"strings"
)

// anotherFormat returns "Turtle" or "XML" if the document begins like one of these formats, and "" otherwise.
func anotherFormat(doc []byte) string {
	text := bytes.TrimSpace(doc)
	for _, start := range []struct{ text, format string }{
		{"@prefix", "Turtle"},
		{"@base", "Turtle"},
		{"prefix ", "Turtle"},
		{"base <", "Turtle"},
		{"#", "Turtle"},
		{"<?xml", "XML"},
		{"<rdf:", "XML"},
		{"<!--", "XML"},
	} {
		if len(text) >= len(start.text) && strings.EqualFold(string(text[:len(start.text)]), start.text) {
			return start.format
		}
	}
	if bytes.HasPrefix(text, []byte("<http")) {
		return "Turtle"
	}
	return ""
}

// inAnotherFormat returns the message for a document in an RDF format other than JSON-LD.
func inAnotherFormat(format string) string {
	parser := map[string]string{"Turtle": "turtle", "XML": "xml"}[format]
	return "the document is " + format + ", but a policy must be JSON-LD: convert it, " +
		"for example with rdfpipe -i " + parser + " -o json-ld (from rdflib)"
}

// idsCore are the prefixes of names in the information model of International Data Spaces (IDS).
var idsCore = []string{"ids:", "https://w3id.org/idsa/core/", "http://w3id.org/idsa/core/"}

// idsContract returns the type of a contract in the IDS information model, which describes contracts in its own terms. It returns "" if
// the document is not such a contract, or has other types as well, such as an ODRL policy.
func idsContract(tree any) string {
	for _, node := range topNodes(tree) {
		types := ListOf(Field{Value: node["@type"]})
		if t := ListOf(Field{Value: node["type"]}); len(types) == 0 {
			types = t
		}
		i := slices.IndexFunc(types, func(f Field) bool {
			s, _ := f.Value.(string)
			return slices.ContainsFunc(idsCore, func(start string) bool { return strings.HasPrefix(s, start) }) &&
				strings.HasPrefix(LastName(s), "Contract")
		})
		if i >= 0 && len(types) == 1 {
			return LastName(types[i].Value.(string)) //nolint:forcetypeassert // the condition above
		}
	}
	return ""
}
